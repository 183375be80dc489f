#include "trainer/tuples/reward_range.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/counterfactual/loss_scaling.h"

namespace sortition {
namespace {

constexpr double kMostOutside = 0.01;

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
  const uint64_t outside = counts.left_out(LeftOutReason::kRewardOutside);
  const uint64_t usable =
      counts.read_tuples - counts.excluded_tuples() + outside;
  if (static_cast<double>(outside) <=
      kMostOutside * static_cast<double>(usable)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "reward of decision ", counts.reward_outside, ", must be in [", range.min,
      ", ", range.max, "], as must those of ", outside, " of ", usable,
      " tuples; set --reward_min and --reward_max to the range of the log, or "
      "--clamp_rewards"));
}

}  // namespace sortition
