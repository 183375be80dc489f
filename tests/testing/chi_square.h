#pragma once
// Pearson's chi-square test of counts against a known distribution.
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace sortition::testing_internal {

// exp(-x) x^a / Γ(a).
inline double GammaFactor(double a, double x) {
  return std::exp(-x + a * std::log(x) - std::lgamma(a));
}

// P(a, x) by its series [AbramowitzStegun64, 6.5.29]; converges fast for x <
// a+1.
inline double LowerGammaSeries(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (double n = a + 1; term > sum * 1e-16; ++n) {
    term *= x / n;
    sum += term;
  }
  return sum * GammaFactor(a, x);
}

// Q(a, x) by its continued fraction [AbramowitzStegun64, 6.5.31], evaluated by
// Lentz's method; converges fast for x > a + 1.
inline double UpperGammaFraction(double a, double x) {
  const double tiny = std::numeric_limits<double>::min();
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double h = d;
  for (int i = 1; i < 10000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return h * GammaFactor(a, x);
}

}  // namespace sortition::testing_internal

namespace sortition {

// Q(a, x) = Γ(a, x) / Γ(a), regularised upper incomplete gamma function;
// requires a > 0, x >= 0.
inline double UpperIncompleteGamma(double a, double x) {
  if (x <= 0) return 1;
  if (x < a + 1) return 1 - testing_internal::LowerGammaSeries(a, x);
  return testing_internal::UpperGammaFraction(a, x);
}

// Probability that a chi-square variable exceeds `statistic`.
inline double ChiSquareUpperTail(double statistic, double degrees_of_freedom) {
  return UpperIncompleteGamma(degrees_of_freedom / 2, statistic / 2);
}

// p-value of `counts` under `probabilities`. Cells with an expected count below
// 5, where the approximation is bad, are merged; 0 if an impossible outcome was
// counted.
inline double ChiSquarePValue(std::span<const uint64_t> counts,
                              std::span<const double> probabilities) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  double statistic = 0;
  double rare_count = 0;
  double rare_expected = 0;
  int cells = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    const double expected = total * probabilities[i];
    if (expected >= 5) {
      add(count, expected);
      continue;
    }
    if (count > 0 && probabilities[i] <= 0) return 0;
    rare_count += count;
    rare_expected += expected;
  }
  if (rare_expected >= 1) {
    add(rare_count, rare_expected);
  } else if (rare_count > 20) {
    return 0;  // P(> 20 | mean < 1) < 1e-18.
  }
  return cells < 2 ? 1 : ChiSquareUpperTail(statistic, cells - 1);
}

}  // namespace sortition
