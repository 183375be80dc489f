#include "trainer/decision_files/outcome_coverage.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

constexpr size_t kMaxPeriods = 1024;

absl::Status Unfit(const RewardFile& file, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(file.path(), ": ", what));
}

}  // namespace

void OutcomeCoverage::NoteInLog(const RewardFile& file,
                                absl::string_view decision_id) {
  rows_in_log_ += file.Find(decision_id).has_value() ? 1 : 0;
}

void OutcomeCoverage::NoteUsed(const RewardFile& file,
                               absl::string_view decision_id, int64_t time_us) {
  ++used_;
  if (!file.Covers(time_us)) return;
  ++covered_;
  const bool has_row = file.Find(decision_id).has_value();
  if (!file.period().is_sparse) {
    without_row_ += has_row ? 0 : 1;
  } else {
    AddToPeriods(time_us, has_row);
  }
}

void OutcomeCoverage::AddToPeriods(int64_t time_us, bool has_row) {
  Period& period = periods_[time_us / width_us_];
  ++period.decisions;
  period.has_row |= has_row;
  while (periods_.size() > kMaxPeriods) {
    std::map<int64_t, Period> merged;
    for (const auto& [index, each] : periods_) {
      Period& wider = merged[index / 2];
      wider.decisions += each.decisions;
      wider.has_row |= each.has_row;
    }
    periods_ = std::move(merged);
    width_us_ *= 2;
  }
}

OutcomeCoverage::Gap OutcomeCoverage::LargestGap(uint64_t* with_rows) const {
  *with_rows = 0;
  Gap largest;
  Gap gap;
  for (const auto& [index, period] : periods_) {
    if (period.has_row) {
      ++*with_rows;
      gap = {};
      continue;
    }
    if (gap.decisions == 0) gap.begin_us = index * width_us_;
    gap.decisions += period.decisions;
    gap.end_us = (index + 1) * width_us_;
    if (gap.decisions > largest.decisions) largest = gap;
  }
  return largest;
}

absl::Status OutcomeCoverage::CheckGaps(const RewardFile& file) const {
  constexpr double kMinShare = 0.05;
  constexpr double kMaxProbability = 1e-6;
  uint64_t with_rows = 0;
  const Gap gap = LargestGap(&with_rows);
  const double share =
      static_cast<double>(gap.decisions) / static_cast<double>(covered_);
  if (with_rows == 0 || share < kMinShare) return absl::OkStatus();
  const auto n = static_cast<double>(with_rows);
  const double log_probability = std::log(n + 1) + n * std::log1p(-share);
  if (log_probability >= std::log(kMaxProbability)) return absl::OkStatus();
  return Unfit(
      file,
      absl::StrCat(
          "no decision between ", UtcTimeText(gap.begin_us), " and ",
          UtcTimeText(gap.end_us), " has a row. These are ", gap.decisions,
          " of ", covered_,
          " decisions, and rows are spread over all other times: "
          "outcomes seem to be missing. Add them, or declare with from=TIME "
          "and "
          "through=TIME what the file has. If nothing happened in that time, "
          "add rows with reward 0 for some of its decisions"));
}

absl::Status OutcomeCoverage::Check(const RewardFile& file) const {
  if (2 * rows_in_log_ < file.num_decisions()) {
    return Unfit(file,
                 absl::StrCat(rows_in_log_, " of its ", file.num_decisions(),
                              " decisions are in the log, at least half must "
                              "be: leave those of other logs or times out"));
  }
  if (used_ == 0) return absl::OkStatus();
  if (covered_ == 0) {
    return Unfit(file, absl::StrCat("the file judges ", file.PeriodText(),
                                    ", and none of the ", used_,
                                    " decisions that are used is one of them"));
  }
  if (file.period().is_sparse) return CheckGaps(file);
  constexpr double kMaxWithoutRow = 0.01;
  if (static_cast<double>(without_row_) <=
      kMaxWithoutRow * static_cast<double>(covered_)) {
    return absl::OkStatus();
  }
  return Unfit(
      file,
      absl::StrCat(without_row_, " of the ", covered_,
                   " decisions that it covers have no row, at most 1 % may: "
                   "add the missing outcomes. If the file lists only decisions "
                   "with an outcome other than 0, declare it, as NAME=",
                   file.path(), "@horizon=7d@sparse"));
}

}  // namespace sortition
