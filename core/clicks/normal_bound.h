#pragma once
// Quantiles of the standard normal distribution, for symmetric intervals.
#include <cmath>
#include <numbers>

namespace sortition {

// Returns the z with P(|N(0, 1)| <= z) = confidence. Requires a confidence in
// (0, 1). By bisection: erf has no inverse in the standard library.
inline double NormalBound(double confidence) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erf(middle / std::numbers::sqrt2) < confidence ? low : high) = middle;
  }
  return low;
}

}  // namespace sortition
