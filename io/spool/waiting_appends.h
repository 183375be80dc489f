#pragma once
// Appends that wait until their records are on the disk (durability POWER).
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "io/segments/segment_writer.h"
#include "io/spool/spool_writer.h"

namespace sortition {

// Knows where the records of each append are, and collects the answers. Each
// append gets one. Not thread-safe.
class WaitingAppends {
 public:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    SpoolWaiter* waiter;
    absl::Status status;
  };

  // `waiter` has appended the last records of `segment`, from number
  // `first_record` on.
  void Add(SpoolWaiter* waiter, std::shared_ptr<const SegmentWriter> segment,
           uint64_t first_record);

  // Answers OK where a sync has covered all records of an append.
  void AnswerDurable();
  // The frames in `unsynced` of the segment `from` are now the last records of
  // `to`, from number `first_record` on, and wait for its sync. An append that
  // has lost a record is answered with `if_lost`.
  void Move(const SegmentWriter& from, const UnsyncedFrames& unsynced,
            const std::shared_ptr<const SegmentWriter>& to,
            uint64_t first_record, const absl::Status& if_lost);
  // Answers those whose records are in one of `segments`.
  void AnswerIn(std::span<const std::shared_ptr<SegmentWriter>> segments,
                const absl::Status& status);
  void AnswerAll(const absl::Status& status);

  // Returns the new answers, which the caller must deliver.
  std::vector<Answer> TakeAnswers();

  bool empty() const { return appends_.empty(); }
  uint64_t size() const { return appends_.size(); }
  // How long the one that came first has waited; 0 if none waits.
  double LongestSeconds(Clock::time_point now) const;

 private:
  struct Append {
    SpoolWaiter* waiter = nullptr;
    std::shared_ptr<const SegmentWriter> segment;
    // Its records are among these of the segment, by number.
    uint64_t first = 0;
    uint64_t end = 0;
    Clock::time_point since;
  };

  // Answers with `status` where `is_due(append)` is true.
  template <typename IsDue>
  void AnswerIf(const IsDue& is_due, const absl::Status& status);

  std::vector<Append> appends_;  // In the order in which they came.
  std::vector<Answer> answers_;
};

}  // namespace sortition
