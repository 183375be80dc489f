#include "client/import/cross_references.h"

#include <limits>

namespace sortition {
namespace {

// Unknown times are later than all others.
int64_t OrderOf(const CrossReferences::Reward& reward) {
  return reward.time_us == 0 ? std::numeric_limits<int64_t>::max()
                             : reward.time_us;
}

}  // namespace

bool CrossReferences::BeginNextPass() {
  bool has_news = has_news_;
  if (!is_applied_) {
    absl::erase_if(activations_,
                   [this](const auto& id) { return !inactive_.contains(id); });
    // A decision that an activation brings back may have a reward, too.
    absl::erase_if(rewards_, [this](const auto& entry) {
      return !decisions_.contains(entry.first) &&
             !activations_.contains(entry.first);
    });
    has_news |= !activations_.empty() || !rewards_.empty();
  }
  is_applied_ = true;
  has_news_ = false;
  decisions_.clear();
  inactive_.clear();
  return has_news;
}

bool CrossReferences::AddReward(const Hash128& id, const Reward& reward) {
  if (is_applied_) return rewards_.contains(id);
  const auto [entry, is_new] = rewards_.try_emplace(id, reward);
  if (!is_new && OrderOf(reward) < OrderOf(entry->second)) {
    entry->second = reward;
  }
  return false;
}

bool CrossReferences::AddActivation(const Hash128& id) {
  if (is_applied_) return activations_.contains(id);
  activations_.insert(id);
  return false;
}

void CrossReferences::AddRepetition(const Hash128& id, uint64_t number) {
  uint64_t& last = last_[id];
  has_news_ |= last != number;
  last = number;
}

std::optional<CrossReferences::Reward> CrossReferences::RewardOf(
    const Hash128& id) const {
  if (!is_applied_) return std::nullopt;
  const auto found = rewards_.find(id);
  if (found == rewards_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> CrossReferences::LastOf(const Hash128& id) const {
  if (!is_applied_) return std::nullopt;
  const auto found = last_.find(id);
  if (found == last_.end()) return std::nullopt;
  return found->second;
}

}  // namespace sortition
