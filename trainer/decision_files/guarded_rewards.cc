#include "trainer/decision_files/guarded_rewards.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<GuardedRewards> GuardedRewards::Read(
    const google::protobuf::RepeatedPtrField<std::string>& rewards,
    const google::protobuf::RepeatedPtrField<std::string>& guardrails,
    const google::protobuf::RepeatedPtrField<std::string>& ranges) {
  GuardedRewards guarded;
  ASSIGN_OR_RETURN(const std::vector<NamedFile> named,
                   ParseNamedFiles("rewards", rewards));
  ASSIGN_OR_RETURN(guarded.limits_,
                   ParseLimits("guardrails", guardrails, named));
  ASSIGN_OR_RETURN(const std::vector<NamedRange> given,
                   ParseRanges("reward_ranges", ranges, named));
  for (const NamedFile& file : named) {
    if (std::none_of(
            guarded.limits_.begin(), guarded.limits_.end(),
            [&](const auto& limit) { return limit.name == file.name; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("rewards has '", file.name,
                       "', must be one of guardrails, as ", file.name, ":0"));
    }
  }
  for (const NamedLimit& limit : guarded.limits_) {
    const auto file = std::find_if(
        named.begin(), named.end(),
        [&](const auto& candidate) { return candidate.name == limit.name; });
    std::optional<RewardBounds> bounds;
    for (const NamedRange& range : given) {
      if (range.name == limit.name) bounds = RewardBounds{range.min, range.max};
    }
    ASSIGN_OR_RETURN(RewardFile read,
                     RewardFile::Read(file->path, file->period, bounds));
    RETURN_IF_ERROR(read.CheckCanBeGuarded(limit.name));
    guarded.files_.push_back(std::move(read));
  }
  return guarded;
}

void GuardedRewards::NoteInLog(absl::string_view decision_id,
                               std::vector<OutcomeCoverage>* found) const {
  found->resize(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    (*found)[i].NoteInLog(files_[i], decision_id);
  }
}

std::vector<std::optional<double>> GuardedRewards::NoteUsed(
    absl::string_view decision_id, int64_t time_us,
    std::vector<OutcomeCoverage>* found) const {
  found->resize(files_.size());
  std::vector<std::optional<double>> rewards;
  rewards.reserve(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    rewards.push_back((*found)[i].NoteUsed(files_[i], decision_id, time_us));
  }
  return rewards;
}

absl::Status GuardedRewards::CheckFound(
    const std::vector<OutcomeCoverage>& found) const {
  for (size_t i = 0; i < files_.size(); ++i) {
    RETURN_IF_ERROR(
        (i < found.size() ? found[i] : OutcomeCoverage()).Check(files_[i]));
  }
  return absl::OkStatus();
}

}  // namespace sortition
