#pragma once
// The F-beta game as its solver sees it: items by falling potential, and
// mixtures of sets of them.
#include <span>
#include <vector>

namespace sortition {

// Payoffs are F(a, y) + cost(y), where cost(y) = Σ ψ⁺ - ψ(y) >= 0 is the game's
// -ψ(y) minus its least value. The payoffs that matter then are within [0, 1],
// however large the potentials are. Potentials are clipped to [-2, 2]. A set of
// the adversary that lacks an item of ψ > 1 or has one of ψ < -1 costs more
// than 1, so it is worse against every action than {ψ > 0}, which costs
// nothing.
//
// Items of equal potential are interchangeable. It is enough to consider
// strategies that permute them at random, for which only the number of items of
// each tie in a set matters.
struct SortedFBetaGame {
  struct Tie {
    int begin = 0;  // Positions begin .. end - 1.
    int end = 0;
  };

  int num_items = 0;
  double beta2 = 1;         // β².
  std::vector<int> item;    // [position]: the caller's index.
  std::vector<double> psi;  // [position], not increasing; ties by index.
  // [t]: sum of the first t of psi; num_items + 1 entries.
  std::vector<double> sums;
  std::vector<Tie> ties;  // Groups of at least two items.
  int num_positive = 0;   // Number of potentials > 0.
  // Sum of the positive potentials before clipping. The value of the caller's
  // game is the value of this one minus positive_sum.
  double positive_sum = 0;

  double Weight(int s, int t) const { return (1 + beta2) / (s + beta2 * t); }
  // Returns the cost of the first t items.
  double PrefixCost(int t) const { return sums[num_positive] - sums[t]; }
};

// Sizes that are less probable than this are not played: they are remains of
// mixing with early rounds. Payoffs that matter are within [0, 1], so bounds
// move by less than this.
inline constexpr double kFBetaDust = 1e-14;

// A mixture of sets, with P_is = P(item i in the set, |set| = s).
struct SizeMarginals {
  double empty = 0;                 // Probability of the empty set.
  std::vector<int> sizes;           // Increasing, > 0.
  std::vector<double> probability;  // [k]: probability of sizes[k].
  std::vector<double> items;        // [k · num_items + position].

  std::span<const double> row(int k, int num_items) const {
    return {items.data() + static_cast<size_t>(k) * num_items,
            static_cast<size_t>(num_items)};
  }
  std::span<double> row(int k, int num_items) {
    return {items.data() + static_cast<size_t>(k) * num_items,
            static_cast<size_t>(num_items)};
  }
  // Makes an empty mixture (all 0) of sets of `new_sizes`.
  void Reset(std::span<const int> new_sizes, int num_items) {
    empty = 0;
    sizes.assign(new_sizes.begin(), new_sizes.end());
    probability.assign(sizes.size(), 0);
    items.assign(sizes.size() * num_items, 0);
  }
};

}  // namespace sortition
