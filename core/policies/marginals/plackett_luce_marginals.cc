#include "core/policies/marginals/plackett_luce_marginals.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Returns the largest step for which the bound on the relative error of the
// trapezoidal rule is below the tolerance. Derivatives by a logit have up to
// two more factors 1 / cos θ. Rounded down, so that the step does not depend on
// the C library.
double StepFor(size_t top_k, double tolerance) {
  constexpr int kAngles = 256;
  constexpr double kGrid = 1024;
  double best = 0;
  for (int i = 1; i < kAngles; ++i) {
    const double angle = std::numbers::pi / 2 * i / kAngles;
    const double log_bound =
        std::log(4 / tolerance) -
        static_cast<double>(top_k + 2) * std::log(std::cos(angle));
    best = std::max(best, 2 * std::numbers::pi * angle / log_bound);
  }
  return std::max(std::floor(best * kGrid), 1.0) / kGrid;
}

// Writes 1 - e^{-x}, given e^{-x}, without cancellation for small x.
void Complement(std::span<const double> x, std::span<const double> q,
                std::span<double> p) {
  // Below this x the series to x^6 is exact to rounding.
  constexpr double kSmall = 1.0 / 128;
  for (size_t i = 0; i < x.size(); ++i) {
    const double t = x[i];
    const double series =
        t * (1 - t / 2 * (1 - t / 3 * (1 - t / 4 * (1 - t / 5 * (1 - t / 6)))));
    p[i] = t < kSmall ? series : 1 - q[i];
  }
}

// Returns how many ranks may be reached by more than a negligible part, where
// the expected number of arrivals is at most `mean`: P(N = k) <= mean^k / k!.
size_t ReachedRanks(double mean, size_t ranks, double negligible) {
  double bound = 1;
  size_t reached = 0;
  while (reached < ranks && bound > negligible) {
    ++reached;
    bound *= mean / static_cast<double>(reached);
  }
  return reached;
}

}  // namespace

PlackettLuceMarginals::PlackettLuceMarginals(double tolerance)
    : tolerance_(tolerance) {
  CHECK(tolerance >= 1e-14 && tolerance <= 1e-3);
}

void PlackettLuceMarginals::Sort(std::span<const double> logits) {
  const size_t n = logits.size();
  places_.resize(n);
  std::iota(places_.begin(), places_.end(), 0u);
  std::sort(places_.begin(), places_.end(), [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  logits_.resize(n);
  first_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    logits_[i] = logits[places_[i]];
    first_[i] = logits_[i] - logits_[0];
  }
  stable::ExpInPlace(first_);
  const double sum = stable::Sum(first_);
  for (double& value : first_) value /= sum;
  log_sum_ = logits_[0] + stable::Log(sum);
}

void PlackettLuceMarginals::Arrive(double log_time, size_t first, size_t count,
                                   size_t ranks) {
  x_.resize(count);
  q_.resize(count);
  p_.resize(count);
  densities_.resize(count);
  for (size_t i = 0; i < count; ++i) x_[i] = logits_[first + i] + log_time;
  stable::ExpInPlace(x_);
  for (size_t i = 0; i < count; ++i) q_[i] = -x_[i];
  stable::ExpInPlace(q_);
  Complement(x_, q_, p_);
  for (size_t i = 0; i < count; ++i) densities_[i] = x_[i] * q_[i];
  counts_.Build(p_, q_,
                ReachedRanks(stable::Sum(x_), ranks,
                             tolerance_ / (16 * static_cast<double>(ranks))));
}

template <typename Visit>
void PlackettLuceMarginals::ForEachNode(size_t top_k, const Visit& visit) {
  const size_t n = logits_.size();
  num_nodes_ = 0;
  if (top_k == 1) return;
  step_ = StepFor(top_k, tolerance_);
  // P(T_d < t) <= x, and P(T_d > t) = e^{-x}: outside of these limits all
  // candidates together lose less than the tolerance.
  const double limit = stable::Log(8 * static_cast<double>(n) / tolerance_);
  const double log_limit = stable::Log(limit);
  // P(two have arrived) <= (t Σ e^l)² / 2.
  const double begin = 0.5 * stable::Log(tolerance_ / 4) - log_sum_;
  size_t first = 0;
  size_t end = 0;
  for (double node = std::floor(begin / step_);; ++node) {
    const double log_time = node * step_;
    while (first < n && logits_[first] + log_time > log_limit) ++first;
    if (first >= top_k || first == n) return;
    end = std::max(end, first);
    while (end < n && logits_[end] + log_time >= -limit) ++end;
    if (first == end) {
      const double next = std::ceil((-limit - logits_[end]) / step_);
      node = std::max(node, next - 1);
      continue;
    }
    const size_t ranks = std::min(top_k - first, end - first);
    Arrive(log_time, first, end - first, ranks);
    ++num_nodes_;
    const size_t reached = counts_.counts().size();
    visit(first, end - first, reached);
    if (reached == top_k - first &&
        stable::Sum(counts_.counts()) < tolerance_ / 8) {
      return;
    }
  }
}

void PlackettLuceMarginals::Compute(std::span<const double> logits,
                                    size_t top_k, std::span<double> marginals) {
  const size_t n = logits.size();
  CHECK(top_k >= 1 && top_k <= n && marginals.size() == top_k * n);
  Sort(logits);
  sums_.assign(top_k * n, 0);
  ForEachNode(top_k, [&](size_t first, size_t count, size_t ranks) {
    for (size_t k = first == 0 ? 1 : 0; k < ranks; ++k) {
      double* const sum = sums_.data() + (first + k) * n + first;
      const double* const other = counts_.others().data() + k * count;
      const double* const density = densities_.data();
      for (size_t i = 0; i < count; ++i) sum[i] += density[i] * other[i];
    }
  });
  for (size_t i = 0; i < n; ++i) {
    marginals[places_[i]] = first_[i];
    for (size_t k = 1; k < top_k; ++k) {
      // Rounding can make one that is 0 negative.
      marginals[k * n + places_[i]] = std::max(0.0, step_ * sums_[k * n + i]);
    }
  }
}

// With V = Σ_d c_d Σ_k a[d][k] A[d][k] at one node, c = x e^{-x}:
//   ∂V / ∂l_j = c_j (1 - x_j) Σ_k a[j][k] A[j][k] + ∂V / ∂p_j · c_j,
// since ∂x / ∂l = x and ∂p / ∂l = x e^{-x}.
double PlackettLuceMarginals::Differentiate(
    std::span<const double> logits, std::span<const double> coefficients,
    std::span<double> gradient) {
  const size_t n = logits.size();
  CHECK(n >= 1 && gradient.size() == n && coefficients.size() % n == 0);
  size_t top_k = coefficients.size();
  while (top_k > 0 && coefficients[top_k - 1] == 0) --top_k;
  top_k = (top_k + n - 1) / n;
  std::fill(gradient.begin(), gradient.end(), 0);
  if (top_k == 0) return 0;
  CHECK(top_k <= n);
  Sort(logits);
  coefficients_.resize(top_k * n);
  for (size_t k = 0; k < top_k; ++k) {
    for (size_t i = 0; i < n; ++i) {
      coefficients_[k * n + i] = coefficients[k * n + places_[i]];
    }
  }
  gradient_.assign(n, 0);
  double sum = 0;
  ForEachNode(top_k, [&](size_t first, size_t count, size_t ranks) {
    factors_.assign(ranks * count, 0);
    slopes_.assign(count, 0);
    const double* const density = densities_.data();
    for (size_t k = first == 0 ? 1 : 0; k < ranks; ++k) {
      double* const factor = factors_.data() + k * count;
      const double* const a = coefficients_.data() + (first + k) * n + first;
      const double* const other = counts_.others().data() + k * count;
      for (size_t i = 0; i < count; ++i) {
        factor[i] = density[i] * a[i];
        slopes_[i] += a[i] * other[i];
      }
    }
    for (size_t i = 0; i < count; ++i) {
      sum += density[i] * slopes_[i];
      slopes_[i] *= 1 - x_[i];
    }
    counts_.AddGradient(factors_, slopes_);
    for (size_t i = 0; i < count; ++i) {
      gradient_[first + i] += density[i] * slopes_[i];
    }
  });
  double first_mean = 0;
  for (size_t i = 0; i < n; ++i) first_mean += first_[i] * coefficients_[i];
  for (size_t i = 0; i < n; ++i) {
    gradient[places_[i]] =
        step_ * gradient_[i] + first_[i] * (coefficients_[i] - first_mean);
  }
  return first_mean + step_ * sum;
}

void MixMarginals(double epsilon, size_t n, std::span<double> marginals) {
  const double uniform = epsilon / static_cast<double>(n);
  for (double& value : marginals) value = (1 - epsilon) * value + uniform;
}

}  // namespace sortition
