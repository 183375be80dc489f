#pragma once
// Checks that a reward file has the outcomes of a log.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "trainer/decision_files/reward_file.h"

namespace sortition {

// Counts how many decisions of a log have a row in a reward file. A file that
// lacks outcomes makes a policy look better or worse than it is; Check()
// rejects such a file. Call NoteInLog() for every decision of the log,
// NoteUsed() also for those that are used, and then Check(). Not thread-safe.
class OutcomeCoverage {
 public:
  // Counts a decision of the log, whether it is used or not.
  void NoteInLog(const RewardFile& file, absl::string_view decision_id);
  // Counts a decision that is used, and returns its reward; nothing if its
  // outcome is unknown (RewardFile::Look).
  std::optional<double> NoteUsed(const RewardFile& file,
                                 absl::string_view decision_id,
                                 int64_t time_us);

  // Used decisions outside of the file's period, or younger than its horizon.
  uint64_t not_judged() const { return used_ - covered_; }
  uint64_t used() const { return used_; }
  // Returns which decisions are judged, in words, and for a sparse file how
  // large a gap would have to be for Check() to find it.
  std::string PeriodText(const RewardFile& file) const;

  // Returns FailedPrecondition, naming the file and the remedy,
  //  - if less than half of the rows are of decisions of the log: the file is
  //    of another log;
  //  - if it covers none of the decisions that are used;
  //  - if it is not sparse, and a covered decision has no row. Even a few may
  //    not be missing: these could be the complaints;
  //  - if it is sparse, and has a gap: a period with at least 5 % of the
  //    covered decisions, in which none has a row. Were n rows spread evenly
  //    over the decisions, each of the n + 1 gaps between them would have more
  //    than the share x with probability (1 - x)^n, so that any of them has it
  //    with at most (n + 1) (1 - x)^n; this must be below 1e-6. Rows of one
  //    period count once, so that a burst of complaints is not evidence.
  absl::Status Check(const RewardFile& file) const;

 private:
  // Covered decisions in a period of length `width_us_`.
  struct Period {
    uint64_t decisions = 0;
    bool has_row = false;
  };
  struct Gap {
    uint64_t decisions = 0;
    int64_t begin_us = 0;
    int64_t end_us = 0;
  };

  void AddToPeriods(int64_t time_us, bool has_row);
  // Returns the gap with the most decisions, and counts the periods with rows.
  Gap LargestGap(uint64_t* with_rows) const;
  absl::Status CheckRows(const RewardFile& file) const;
  absl::Status CheckGaps(const RewardFile& file) const;

  std::string example_in_log_;  // A decision id without a row.
  uint64_t rows_in_log_ = 0;
  uint64_t without_time_ = 0;
  uint64_t used_ = 0;
  uint64_t covered_ = 0;
  uint64_t without_row_ = 0;
  std::string first_without_row_;  // A decision id.
  // By time / width_us_. The width doubles where there are too many periods.
  std::map<int64_t, Period> periods_;
  int64_t width_us_ = 1;
};

}  // namespace sortition
