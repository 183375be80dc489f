#pragma once
// The join of decisions with what came back (docs/join.md): a left outer join
// by decision id inside a window of log time.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "sidecar/join_records.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Feed it the records in spool order, and after each one take out what came
// ready. Its answers depend on the log times alone, not on when it is called,
// as long as every record reaches the spool within `slack` of its time. No
// files, clocks or threads. Memory: about 150 bytes per pending decision, 80
// per remembered id, and the feedback itself.
class Joiner {
 public:
  explicit Joiner(const config::v1::JoinOptions& options);

  // `answer`: equal for two records of one id that say the same.
  void AddDecision(SpoolPlace place, absl::string_view id, int64_t time_us,
                   uint64_t answer);
  void AddShown(SpoolPlace place, const log::v1::Shown& shown);
  // Requires a finite reward.
  void AddFeedback(SpoolPlace place, const log::v1::Feedback& feedback);
  // An id of a removed segment. Before all records.
  void AddRemembered(const RememberedId& id);

  // Every record up to this log time has been added.
  void AdvanceTo(int64_t time_us);

  // Decisions whose window is over, in spool order: the first one blocks.
  std::optional<ClosedDecision> PopClosed();
  std::optional<LateRecord> PopLate();

  int64_t watermark_us() const { return watermark_us_; }
  size_t num_pending() const { return queue_.size(); }
  const JoinCounts& counts() const { return counts_; }

  // Oldest segment whose records may still go into an output; UINT32_MAX where
  // there is none.
  uint32_t OldestNeededSegment() const;
  // What must be remembered of a segment so that it can be removed.
  std::vector<RememberedId> IdsOfSegment(uint32_t segment) const;
  // Ids of segments before `segment` may be forgotten in time; not the others.
  void AllowForgettingBefore(uint32_t segment) { forget_before_ = segment; }
  // True when windows of decisions up to this time are over, and what was held
  // for want of a decision up to this time has been let go.
  bool IsOver(int64_t time_us) const;

 private:
  struct HashOfHash {
    size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  template <typename Value>
  using MapByHash = absl::flat_hash_map<Hash128, Value, HashOfHash>;

  enum class State : uint8_t { kPending, kEmitted, kRemembered };
  struct Known {
    int64_t time_us = 0;
    uint64_t number = 0;  // Of the pending decision.
    State state = State::kPending;
  };
  struct Pending {
    Hash128 id;
    int64_t time_us = 0;
    // The watermark when it came: it stays open for a window from there, so
    // that a clock that was ahead for a moment closes nothing.
    int64_t came_at_us = 0;
    SpoolPlace place;
    uint64_t answer = 0;
    bool is_ambiguous = false;
    std::vector<JoinedRecord> records;
  };
  struct HeldId {
    Hash128 decision;
    SpoolPlace place;
    int64_t time_us = 0;
  };

  bool HasPassed(int64_t time_us, int windows) const;
  // By log time an id is known for two windows, whatever is in memory.
  bool IsKnownAt(const Known& known, int64_t time_us) const {
    return time_us <= known.time_us + 2 * window_us_;
  }
  bool IsDuplicateFeedback(absl::string_view feedback_id, SpoolPlace place,
                           int64_t time_us);
  void AddRecord(const Hash128& decision, JoinedRecord record);
  void Attach(Pending* pending, JoinedRecord record);
  void AdoptHeld(Pending* pending);
  void Reject(JoinedRecord record, log::v1::LateFeedback::Reason reason);
  void ExpireHeld();
  void Forget();
  double Aggregate(const std::vector<JoinedRecord>& records) const;

  const config::v1::JoinOptions options_;
  const int64_t window_us_;
  const int64_t slack_us_;
  int64_t watermark_us_ = 0;
  uint32_t forget_before_ = 1;
  JoinCounts counts_;
  std::deque<Pending> queue_;
  uint64_t first_number_ = 0;  // Of queue_.front().
  MapByHash<Known> known_;
  MapByHash<int64_t> seen_feedback_;  // Time of the first with this id.
  std::deque<RememberedId> ids_;      // Of both maps, in spool order.
  MapByHash<std::vector<JoinedRecord>> held_;  // By decision not yet seen.
  std::deque<HeldId> held_order_;
  std::map<uint32_t, uint64_t> early_;  // Records held by a pending decision of
                                        // a later segment than their own.
  std::deque<LateRecord> late_;
};

}  // namespace sortition
