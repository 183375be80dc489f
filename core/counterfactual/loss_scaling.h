#pragma once
// Losses for counterfactual risk minimisation [SwaminathanJoachims15,
// sec. 4.3].

namespace sortition {

// Returns δ' = (δ - Δ) / (Δ - ∇), where δ = -reward, Δ = -reward_min is the
// worst and ∇ = -reward_max the best loss. δ' is in [-1, 0] if the reward is in
// its range. Then actions that were never logged count as the worst, and the
// clipped risk is an upper bound. Requires reward_min < reward_max.
inline double RewardToLoss(double reward, double reward_min,
                           double reward_max) {
  return (reward_min - reward) / (reward_max - reward_min);
}

// The inverse of RewardToLoss.
inline double LossToReward(double loss, double reward_min, double reward_max) {
  return reward_min - loss * (reward_max - reward_min);
}

}  // namespace sortition
