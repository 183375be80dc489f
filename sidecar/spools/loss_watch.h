#pragma once
// Finds out when feedback may have been lost, and tells the joiner.
#include <cstdint>
#include <optional>

#include "io/clocks.h"
#include "io/spool/writer_state.h"
#include "sidecar/join/joiner.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Times are log times in microseconds. Not thread-safe.
class LossWatch {
 public:
  // `joiner` must outlive it. `reroute_us`: how long front ends go on sending
  // to this server when it is away; nothing if there is no other one.
  LossWatch(const config::v1::SidecarOptions& options, uint32_t spool,
            std::optional<int64_t> reroute_us, Joiner* joiner);

  // What the spool says. Call these in its order, each before the joiner gets
  // the next record.
  void TakeSegment(const log::v1::SegmentHeader& header, bool is_after_missing);
  void TakeGap(const log::v1::Gap& gap);
  void TakeDamage();  // Of a record, between the last one and the next one.
  void TakeTime(int64_t time_us);  // Of a record.
  // There is no further record yet, of a time up to this one.
  void TakeEnd(int64_t until_us);

  // What the writer says about itself: trouble that has not ended, and whether
  // it is alive. `state` must have been read after `now_us` and before the last
  // look at the spool, so that a gap record tells what it does not. Returns the
  // time up to which windows may close: that of the last sign of life, as long
  // as it is not known whether an absence is short.
  int64_t TakeState(const WriterState& state, int64_t now_us);
  // Returns true if the writer was away for too long at the last look.
  bool is_away() const { return is_away_; }

  // Returns the latest time of the spool so far.
  int64_t last_time_us() const { return last_time_us_; }

 private:
  void EndDamage(int64_t until_us);
  // Returns when an absence since `since_us` that lasts until `until_us` loses
  // feedback no more.
  int64_t LastLoss(int64_t since_us, int64_t until_us) const;

  const int64_t max_away_us_;
  const uint32_t spool_;
  const std::optional<int64_t> reroute_us_;
  Joiner* const joiner_;
  bool is_away_ = false;
  int64_t last_time_us_ = 0;
  std::optional<int64_t> damaged_since_us_;
};

}  // namespace sortition
