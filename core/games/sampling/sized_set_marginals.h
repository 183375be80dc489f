#pragma once
// Mixtures of subsets of n items, described by what the games need: the
// probability of each size, and that of each item to be in a set of that size.
#include <cstdint>
#include <vector>

namespace sortition {

// The sets of one size in a mixture. A mixture is a vector of these with
// increasing sizes, whose probabilities add up to 1.
struct SizedSetMarginals {
  uint32_t size = 0;       // 0 .. n.
  double probability = 0;  // Probability that the set has this size.
  // [item]: P(item in the set | size); each within [0, 1], they add up to the
  // size. Empty for size 0.
  std::vector<double> inclusion_probabilities;
};

}  // namespace sortition
