#include "client/import/cross_references.h"

namespace sortition {

bool CrossReferences::BeginSecondPass() {
  absl::erase_if(activations_,
                 [this](const auto& id) { return !inactive_.contains(id); });
  // A decision that an activation brings back may have a reward, too.
  absl::erase_if(rewards_, [this](const auto& entry) {
    return !decisions_.contains(entry.first) &&
           !activations_.contains(entry.first);
  });
  is_second_pass_ = true;
  decisions_.clear();
  inactive_.clear();
  return !activations_.empty() || !rewards_.empty() || !last_.empty();
}

bool CrossReferences::AddReward(const Hash128& id, const Reward& reward) {
  if (is_second_pass_) return rewards_.contains(id);
  const auto [entry, is_new] = rewards_.try_emplace(id, reward);
  if (!is_new && reward.time_us < entry->second.time_us) {
    entry->second = reward;
  }
  return false;
}

bool CrossReferences::AddActivation(const Hash128& id) {
  if (is_second_pass_) return activations_.contains(id);
  activations_.insert(id);
  return false;
}

void CrossReferences::AddRepetition(const Hash128& id, uint64_t number) {
  if (!is_second_pass_) last_[id] = number;
}

std::optional<CrossReferences::Reward> CrossReferences::RewardOf(
    const Hash128& id) const {
  if (!is_second_pass_) return std::nullopt;
  const auto found = rewards_.find(id);
  if (found == rewards_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> CrossReferences::LastOf(const Hash128& id) const {
  if (!is_second_pass_) return std::nullopt;
  const auto found = last_.find(id);
  if (found == last_.end()) return std::nullopt;
  return found->second;
}

}  // namespace sortition
