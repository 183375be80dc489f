#include "trainer/decision_files/reward_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "trainer/decision_files/decision_rows.h"

namespace sortition {

absl::StatusOr<RewardFile> RewardFile::Read(
    const std::string& path, const std::optional<RewardBounds>& bounds) {
  const RewardBounds permitted =
      bounds.value_or(RewardBounds{-kMostReward, kMostReward});
  ASSIGN_OR_RETURN(const auto rows, DecisionRows::Open(path));
  RewardFile file;
  file.path_ = path;
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
    file.min_ = std::min(file.min_, *reward);
    file.max_ = std::max(file.max_, *reward);
  }
  return file;
}

double RewardFile::RewardOf(absl::string_view decision_id) const {
  const auto found = rewards_.find(HashBytes(decision_id));
  return found == rewards_.end() ? 0 : found->second;
}

absl::Status RewardFile::CheckFound(uint64_t found) const {
  if (found > 0 || rewards_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path_, ": none of its ", rewards_.size(),
                   " decisions is in the log, at least one must be"));
}

absl::Status RewardFile::CheckMostFound(uint64_t found) const {
  if (2 * found >= rewards_.size()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path_, ": ", found, " of its ", rewards_.size(),
      " decisions are in the log, at least half must be: leave those of other "
      "logs or times out"));
}

bool RewardFile::Has(absl::string_view decision_id) const {
  return rewards_.contains(HashBytes(decision_id));
}

}  // namespace sortition
