#include "core/counterfactual/confidence/clopper_pearson.h"

#include <cmath>

namespace sortition {
namespace {

// P(X >= k), X ~ Binomial(n, p), for p <= k / n and k >= 1: terms fall from the
// first one on.
double UpperTail(double k, double n, double p) {
  if (p == 0) return 0;
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) -
                         std::lgamma(n - k + 1) + k * std::log(p) +
                         (n - k > 0 ? (n - k) * std::log1p(-p) : 0));
  const double odds = p / (1 - p);
  double sum = 0;
  for (double i = k; i <= n && term > 1e-17 * sum; ++i) {
    sum += term;
    term *= (n - i) / (i + 1) * odds;
  }
  return sum;
}

// The p with which k or more have the probability `failure`.
double LowerBound(double k, double n, double failure) {
  if (k == 0) return 0;
  double low = 0;
  double high = k / n;
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (UpperTail(k, n, middle) < failure ? low : high) = middle;
  }
  return low;
}

}  // namespace

Interval ClopperPearsonInterval(uint64_t successes, uint64_t trials,
                                double confidence) {
  if (trials == 0) return {0, 0, 1};
  const double k = static_cast<double>(successes);
  const double n = static_cast<double>(trials);
  const double failure = (1 - confidence) / 2;
  return {k / n, LowerBound(k, n, failure), 1 - LowerBound(n - k, n, failure)};
}

}  // namespace sortition
