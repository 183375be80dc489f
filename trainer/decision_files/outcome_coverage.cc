#include "trainer/decision_files/outcome_coverage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

constexpr size_t kMaxPeriods = 1024;

absl::Status Unfit(const RewardFile& file, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(file.path(), ": ", what));
}

// Returns the smallest share of the decisions that makes a gap, if so many
// periods have rows. Without rows no gap is known.
double SmallestGap(uint64_t with_rows) {
  constexpr double kMinShare = 0.05;
  constexpr double kMaxProbability = 1e-6;
  if (with_rows == 0) return std::numeric_limits<double>::infinity();
  // (n + 1) (1 - x)^n = kMaxProbability
  const auto n = static_cast<double>(with_rows);
  return std::max(kMinShare,
                  -std::expm1(std::log(kMaxProbability / (n + 1)) / n));
}

}  // namespace

void OutcomeCoverage::NoteInLog(const RewardFile& file,
                                absl::string_view decision_id) {
  if (file.HasRow(decision_id)) {
    ++rows_in_log_;
  } else if (example_in_log_.empty()) {
    example_in_log_ = std::string(decision_id);
  }
}

std::optional<double> OutcomeCoverage::NoteUsed(const RewardFile& file,
                                                absl::string_view decision_id,
                                                int64_t time_us) {
  ++used_;
  without_time_ += time_us > 0 ? 0 : 1;
  const Outcome outcome = file.Look(decision_id, time_us);
  if (!outcome.is_covered) return std::nullopt;
  ++covered_;
  if (file.is_sparse()) {
    AddToPeriods(time_us, outcome.has_row);
  } else if (!outcome.has_row && ++without_row_ == 1) {
    first_without_row_ = std::string(decision_id);
  }
  return outcome.reward;
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
  uint64_t with_rows = 0;
  const Gap gap = LargestGap(&with_rows);
  const double share =
      static_cast<double>(gap.decisions) / static_cast<double>(covered_);
  if (share < SmallestGap(with_rows)) return absl::OkStatus();
  return Unfit(
      file,
      absl::StrCat(
          "no decision between ", UtcTimeText(gap.begin_us), " and ",
          UtcTimeText(gap.end_us), " has a row. These are ", gap.decisions,
          " of ", covered_,
          " decisions, and rows are spread over all other times: "
          "outcomes seem to be missing. Add them, or declare with from=TIME "
          "and through=TIME what the file has. If nothing happened in that "
          "time, add rows with reward 0 for some of its decisions"));
}

absl::Status OutcomeCoverage::CheckRows(const RewardFile& file) const {
  if (without_row_ == 0) return absl::OkStatus();
  return Unfit(
      file,
      absl::StrCat(without_row_, " of the ", covered_,
                   " decisions that it covers have no row, for example '",
                   Shown(first_without_row_),
                   "', all must have one. Add the rows, with reward 0 where "
                   "nothing happened; or, if the file lists only decisions "
                   "with an outcome other than 0, declare it with @sparse; or "
                   "declare with @from=TIME and @through=TIME what it covers"));
}

std::string OutcomeCoverage::PeriodText(const RewardFile& file) const {
  if (!file.is_sparse()) {
    return absl::StrCat(file.PeriodText(), ", each with a row of its own");
  }
  uint64_t with_rows = 0;
  LargestGap(&with_rows);
  const double smallest = SmallestGap(with_rows);
  constexpr double kAlmostAll = 0.995;
  return absl::StrCat(
      file.PeriodText(),
      "; without a row they have the reward 0 (sparse), and ",
      smallest > kAlmostAll
          ? "rows are too few for a gap to be noticed"
          : absl::StrFormat("a gap of rows would be noticed if it had at least "
                            "%.0f %% of the decisions",
                            std::ceil(100 * smallest)));
}

absl::Status OutcomeCoverage::Check(const RewardFile& file) const {
  if (2 * rows_in_log_ < file.num_decisions()) {
    return Unfit(file,
                 absl::StrCat(rows_in_log_, " of its ", file.num_decisions(),
                              " decisions are in the log, at least half must "
                              "be: remove rows of other logs or times. A "
                              "decision id of the file is '",
                              Shown(file.example()), "', one of the log '",
                              Shown(example_in_log_), "'"));
  }
  if (used_ == 0) return absl::OkStatus();
  if (covered_ == 0) {
    return Unfit(
        file, absl::StrCat(
                  "the file judges ", file.PeriodText(), ", and none of the ",
                  used_, " decisions that are used is one of them",
                  without_time_ > 0
                      ? absl::StrCat("; ", without_time_,
                                     " have no time, so that nobody knows "
                                     "whether their outcomes have arrived "
                                     "(horizon=0s if they come with the "
                                     "decision)")
                      : ""));
  }
  return file.is_sparse() ? CheckGaps(file) : CheckRows(file);
}

}  // namespace sortition
