#include "bench/support/paired_test.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

// P(T > t) with `freedom` degrees of freedom: a half less the density from 0 to
// t, by Simpson's rule.
double UpperTail(double t, double freedom) {
  constexpr int kIntervals = 20'000;
  const double scale =
      std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
      std::sqrt(freedom * std::numbers::pi);
  const auto density = [&](double x) {
    return scale * std::pow(1 + x * x / freedom, -(freedom + 1) / 2);
  };
  const double step = t / kIntervals;
  double sum = density(0) + density(t);
  for (int k = 1; k < kIntervals; ++k) {
    sum += (k % 2 == 1 ? 4 : 2) * density(k * step);
  }
  return 0.5 - sum * step / 3;
}

}  // namespace

PairedTest TestPairs(std::span<const double> a, std::span<const double> b) {
  Moments differences;
  for (size_t i = 0; i < a.size(); ++i) differences.Add(a[i] - b[i]);
  const double n = static_cast<double>(a.size());
  PairedTest test;
  test.t = differences.mean() / std::sqrt(differences.variance() / n);
  test.p = UpperTail(test.t, n - 1);
  return test;
}

}  // namespace sortition
