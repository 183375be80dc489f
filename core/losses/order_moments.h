#pragma once
// log Z and its derivatives for the distribution p(σ) = exp(Σ_r a_r s_σ(r)) / Z
// over all orders of a few items. A recursion over sets of first items
// [HeldKarp62] needs n 2^(n-1) products instead of n! orders. It is fast enough
// for training, which evaluates it millions of times.
// core/policies/distributions/boltzmann_orders.h can also draw orders, and is
// used here if scores are far apart.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/policies/distributions/boltzmann_orders.h"

namespace sortition {

// Writes the values to `sorted`, largest first. Requires equal sizes; quadratic
// in the number of values, so for few of them.
void SortFalling(std::span<const double> values, std::span<double> sorted);

// Reusable: allocates nothing once it has met as many items.
class OrderMoments {
 public:
  static constexpr size_t kMaxItems = 8;

  // Returns log Z and writes means[i] = E[a_rank(i)] = ∂ log Z / ∂s_i. Requires
  // 1 to kMaxItems scores, and as many means and rank weights; the weights must
  // not increase and must be in [0, 1].
  double Evaluate(std::span<const double> rank_weights,
                  std::span<const double> scores, std::span<double> means);

 private:
  // The placement of an item after a set of `rank` others.
  struct Step {
    uint8_t before, after;  // The sets of items, as bits.
    uint8_t rank, item;
  };

  void Prepare(size_t n);

  size_t n_ = 0;
  std::vector<Step> steps_;                           // Sorted by rank.
  std::array<double, kMaxItems * kMaxItems> factor_;  // [rank][item]
  // For each set, the sums over the orders of its items and over those of the
  // other items.
  std::array<double, 1 << kMaxItems> above_, below_;
  BoltzmannOrders orders_;
};

}  // namespace sortition
