#include "bench/support/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

// Returns P(T > t) for `freedom` degrees of freedom: a half minus the integral
// of the density from 0 to t, by Simpson's rule.
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

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1
                            ? values[middle]
                            : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

double MedianOf(std::vector<double> values) {
  return SpreadOf(std::move(values)).median;
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double GrowthExponent(std::span<const std::pair<double, double>> points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [size, seconds] : points) {
    x += std::log(size);
    y += std::log(seconds);
    xx += std::log(size) * std::log(size);
    xy += std::log(size) * std::log(seconds);
  }
  const double n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

PairedTest TestPairs(std::span<const double> a, std::span<const double> b) {
  Moments differences;
  for (size_t i = 0; i < a.size(); ++i) differences.Add(a[i] - b[i]);
  const double n = static_cast<double>(a.size());
  PairedTest test;
  test.difference = differences.mean();
  test.standard_error = std::sqrt(differences.variance() / n);
  test.t = test.difference / test.standard_error;
  test.p = UpperTail(test.t, n - 1);
  return test;
}

}  // namespace sortition
