#pragma once
// Draws a place from weights by its distribution function.
#include <cstddef>
#include <span>

namespace sortition {

// Returns the first place at which the running sum of `weights` exceeds
// `target`; where rounding put the target at the end, the last place of a
// weight above 0. Requires such a place.
inline size_t InverseCdf(std::span<const double> weights, double target) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    sum += weights[i];
    last = i;
    if (target < sum) return i;
  }
  return last;
}

}  // namespace sortition
