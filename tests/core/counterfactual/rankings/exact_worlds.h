#pragma once
// Small worlds whose every order is enumerated, and what policies are worth in
// them.
#include <vector>

#include "tests/core/counterfactual/rankings/toy_orders.h"

namespace sortition::testing_rankings {

// The weights of ranks.
inline const std::vector<double> kAlpha = {1, 0.8, 0.5};

// Five candidates; four are logged, three shown.
inline World FewShown() {
  return World({0.3, -0.2, 0.1, 0.5, -0.4}, {-0.5, 0.9, 0.2, -0.1, 0.7}, 4, 3);
}

// Four candidates; all are logged, three shown.
inline World AllLogged() {
  return World({0.3, -0.2, 0.1, 0.5}, {-0.5, 0.9, 0.2, -0.1}, 4, 3);
}

// Σ_k α_k r_k
inline double SumOf(Users users, const Order& order, size_t num_shown) {
  double sum = 0;
  for (size_t k = 0; k < num_shown; ++k) {
    sum += kAlpha[k] * RewardOf(users, order, k, num_shown);
  }
  return sum;
}

inline double TrueValue(const World& world, Users users) {
  return world.target.Mean(
      [&](const Order& order) { return SumOf(users, order, world.num_shown); });
}

}  // namespace sortition::testing_rankings
