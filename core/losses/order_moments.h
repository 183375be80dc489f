#pragma once
// Sums over all orders of a few items, p(σ) = exp(Σ_r a_r s_σ(r)) / Z, where
// only log Z and its derivatives are asked for: by the sets of the first items
// [HeldKarp62], n 2^(n-1) products in place of n! orders. For training, which
// asks millions of times; core/policies/boltzmann_orders.h draws too, and takes
// over where scores are far apart.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/policies/boltzmann_orders.h"

namespace sortition {

// sorted = the values, largest first. Requires as many; few.
void SortFalling(std::span<const double> values, std::span<double> sorted);

// Reusable; no allocation when warm.
class OrderMoments {
 public:
  static constexpr size_t kMaxItems = 8;

  // Returns log Z; means[i] = E[a_rank(i)] = ∂ log Z / ∂s_i. Requires as many
  // rank weights, finite and not increasing within [0, 1], and means as scores,
  // 1 to kMaxItems.
  double Evaluate(std::span<const double> rank_weights,
                  std::span<const double> scores, std::span<double> means);

 private:
  // An item that follows a set of `rank` others.
  struct Step {
    uint8_t before, after;  // Sets, as bits of items.
    uint8_t rank, item;
  };

  void Prepare(size_t n);

  size_t n_ = 0;
  std::vector<Step> steps_;                           // By rank.
  std::array<double, kMaxItems * kMaxItems> factor_;  // [rank][item]
  // By set: sums over the orders of it, and of those not in it.
  std::array<double, 1 << kMaxItems> above_, below_;
  BoltzmannOrders orders_;
};

}  // namespace sortition
