#include "trainer/decision_files/reward_file.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "trainer/decision_files/decision_rows.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

// A misspelt term of an option is part of the path.
absl::StatusOr<std::unique_ptr<DecisionRows>> OpenRows(
    const std::string& path) {
  auto rows = DecisionRows::Open(path);
  if (!absl::IsNotFound(rows.status()) || !absl::StrContains(path, '@')) {
    return rows;
  }
  return absl::NotFoundError(absl::StrCat(
      rows.status().message(), "; the path has an '@': terms after it must be ",
      kPeriodTerms));
}

}  // namespace

absl::StatusOr<RewardFile> RewardFile::Read(
    const std::string& path, const OutcomePeriod& period,
    const std::optional<RewardBounds>& bounds) {
  const RewardBounds permitted =
      bounds.value_or(RewardBounds{-kMostReward, kMostReward});
  ASSIGN_OR_RETURN(const auto rows, OpenRows(path));
  RewardFile file;
  file.path_ = path;
  file.period_ = period;
  file.is_range_given_ = bounds.has_value();
  if (bounds.has_value()) {
    file.min_ = bounds->min;
    file.max_ = bounds->max;
  }
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, rows->Next());
    if (!has_row) break;
    ASSIGN_OR_RETURN(const auto reward, rows->Number("reward"));
    if (!reward.has_value()) return rows->Wrong("reward is missing");
    if (*reward < permitted.min || *reward > permitted.max) {
      return rows->Wrong(absl::StrCat("reward is ", *reward, ", must be in [",
                                      permitted.min, ", ", permitted.max, "]"));
    }
    if (!file.rewards_.emplace(HashBytes(rows->decision_id()), *reward)
             .second) {
      return rows->Wrong(absl::StrCat("decision_id is '",
                                      Shown(rows->decision_id()),
                                      "', which an earlier line has, too"));
    }
    if (file.rewards_.size() > kMostDecisions) {
      return rows->Wrong(absl::StrCat("the file must have at most ",
                                      kMostDecisions, " decisions"));
    }
    if (file.rewards_.size() == 1) {
      file.example_ = std::string(rows->decision_id());
    }
    file.min_ = std::min(file.min_, *reward);
    file.max_ = std::max(file.max_, *reward);
  }
  if (file.is_sparse() && file.rewards_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": the file has no row, must have at least one: a failed export looks "
        "the same. If nothing has happened so far, add a row with the reward 0 "
        "for one decision of the log"));
  }
  RETURN_IF_ERROR(file.SetThrough(rows->through()));
  return file;
}

absl::Status RewardFile::SetThrough(const std::string& declared) {
  if (!declared.empty()) {
    ASSIGN_OR_RETURN(const int64_t through_us,
                     ParseInstant(absl::StrCat(path_, ": through"), declared));
    period_.through_us =
        std::min(through_us, period_.through_us.value_or(through_us));
  }
  if (!period_.through_us.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_,
        ": the file must declare up to when it has all outcomes, because a "
        "decision without one is otherwise taken to have none: as its last "
        "line, '# through=2026-11-20T00:00:00Z' (CSV) or {\"through\": "
        "\"2026-11-20T00:00:00Z\"} (JSON lines), or after its name in the "
        "option, as NAME=",
        path_, "@through=2026-11-20T00:00:00Z"));
  }
  constexpr int64_t kClocksDifferUs = 60'000'000;
  const int64_t now_us = absl::ToUnixMicros(absl::Now());
  if (*period_.through_us > now_us + kClocksDifferUs) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": through is ", UtcTimeText(*period_.through_us),
        ", must not be in the future, it is ", UtcTimeText(now_us),
        " now: outcomes up to then are not known yet. 'Z' and dates mean UTC; "
        "a local time has its offset, as 2026-11-20T00:00:00+02:00"));
  }
  period_.through_us = std::min(*period_.through_us, now_us);
  return absl::OkStatus();
}

Outcome RewardFile::Look(absl::string_view decision_id, int64_t time_us) const {
  const bool has_time = time_us > 0;
  const bool needs_time = period_.horizon_us > 0 || period_.from_us.has_value();
  const bool is_covered = (has_time || !needs_time) &&
                          time_us >= period_.from_us.value_or(time_us) &&
                          time_us <= judged_until_us();
  if (!is_covered) return {};
  const auto found = rewards_.find(HashBytes(decision_id));
  if (found != rewards_.end()) {
    return {.is_covered = true, .has_row = true, .reward = found->second};
  }
  Outcome outcome{.is_covered = true};
  if (is_sparse()) outcome.reward = 0;
  return outcome;
}

absl::Status RewardFile::CheckCanBeGuarded(absl::string_view name) const {
  if (is_range_given_ || min_ < 0 || max_ <= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": no reward is negative, and the guardrail '", name,
      "' holds if the mean reward does not fall. Complaints and costs must be "
      "negative, as -1. If a higher reward is better, declare its range, as "
      "--reward_ranges=",
      name, ":0:", max_));
}

std::string RewardFile::PeriodText() const {
  return absl::StrCat(
      "decisions ",
      period_.from_us
          ? absl::StrCat("from ", UtcTimeText(*period_.from_us), " ")
          : "",
      "up to ", UtcTimeText(judged_until_us()), " (outcomes through ",
      UtcTimeText(*period_.through_us), ", horizon ",
      absl::FormatDuration(absl::Microseconds(period_.horizon_us)), ")");
}

}  // namespace sortition
