#include "trainer/tuples/reward_range.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/counterfactual/loss_scaling.h"

namespace sortition {
namespace {

constexpr double kMostOutside = 0.01;

bool IsTooMany(const RewardCounts& rewards) {
  return static_cast<double>(rewards.outside) >
         kMostOutside * static_cast<double>(rewards.all);
}

}  // namespace

RewardRange RewardRange::Of(const config::v1::TrainOptions& options) {
  return {options.reward_min(), options.reward_max(), options.clamp_rewards()};
}

std::optional<double> RewardRange::LossOf(double reward) const {
  if (clamps) reward = std::clamp(reward, min, max);
  if (reward < min || reward > max) return std::nullopt;
  return RewardToLoss(reward, min, max);
}

absl::Status CheckRewards(const TupleCounts& counts, const RewardRange& range) {
  const bool is_default = !IsTooMany(counts.with_feedback);
  const RewardCounts& rewards =
      is_default ? counts.without_feedback : counts.with_feedback;
  if (!IsTooMany(rewards)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "reward of decision ", rewards.first_outside, ", must be in [", range.min,
      ", ", range.max, "], as must those of ", rewards.outside, " of ",
      rewards.all, " tuples with", is_default ? "out" : "",
      " feedback; set --reward_min and --reward_max to the range of the log, "
      "or "
      "--clamp_rewards"));
}

}  // namespace sortition
