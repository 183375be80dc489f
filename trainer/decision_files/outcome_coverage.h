#pragma once
// Checks that a reward file has the outcomes of a log.
#include <cstdint>
#include <map>

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
  // Counts a decision that is used.
  void NoteUsed(const RewardFile& file, absl::string_view decision_id,
                int64_t time_us);

  // Number of used decisions outside the period of the file, or later than
  // RewardFile::judged_until_us().
  uint64_t not_covered() const { return used_ - covered_; }
  // Number of covered decisions without a row; 0 if the file is sparse.
  uint64_t without_row() const { return without_row_; }
  uint64_t not_judged() const { return not_covered() + without_row_; }
  uint64_t used() const { return used_; }

  // Returns FailedPrecondition, naming the file and the remedy,
  //  - if less than half of the rows are of decisions of the log: the file is
  //    of another log;
  //  - if it covers none of the decisions that are used;
  //  - if it is not sparse, and more than 1 % of the covered decisions have no
  //    row;
  //  - if it is sparse, and has a gap: a period with a share x of at least 5 %
  //    of the covered decisions, none of which has a row. If n rows were spread
  //    at random over the decisions, each of the n + 1 gaps between them would
  //    have more than the share x with probability (1 - x)^n, so that a gap of
  //    this share would occur with probability at most (n + 1) (1 - x)^n. The
  //    file is rejected if this is below 1e-6. Rows of one period count once,
  //    so that a burst of complaints is no evidence.
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
  absl::Status CheckGaps(const RewardFile& file) const;

  uint64_t rows_in_log_ = 0;
  uint64_t used_ = 0;
  uint64_t covered_ = 0;
  uint64_t without_row_ = 0;
  // By time / width_us_. The width doubles when there are too many periods.
  std::map<int64_t, Period> periods_;
  int64_t width_us_ = 1;
};

}  // namespace sortition
