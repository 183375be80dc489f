#pragma once
// Losses for counterfactual risk minimisation [SwaminathanJoachims15,
// sec. 4.3].

namespace sortition {

// δ' = (δ - Δ) / (Δ - ∇) with δ = -reward, Δ = -reward_min the worst and
// ∇ = -reward_max the best loss. In [-1, 0] where reward is in its range; then
// an action that was never logged counts as the worst, and the clipped risk is
// an upper bound. Requires reward_min < reward_max.
inline double RewardToLoss(double reward, double reward_min,
                           double reward_max) {
  return (reward_min - reward) / (reward_max - reward_min);
}

// Inverse of RewardToLoss.
inline double LossToReward(double loss, double reward_min, double reward_max) {
  return reward_min - loss * (reward_max - reward_min);
}

}  // namespace sortition
