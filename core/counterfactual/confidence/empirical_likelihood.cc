#include "core/counterfactual/confidence/empirical_likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Returns Σ log(1 + λ z_b). Takes one logarithm for several factors, because
// products are faster.
double SumOfLogs(const std::vector<double>& z, double lambda) {
  constexpr size_t kFactors = 8;
  double sum = 0;
  double product = 1;
  for (size_t b = 0; b < z.size(); ++b) {
    product *= 1 + lambda * z[b];
    if (b % kFactors != kFactors - 1) continue;
    sum += std::log(product);
    product = 1;
  }
  return sum + std::log(product);
}

// Returns sup Σ log(1 + λ z_b) over λ in [0, most), by Newton's method for the
// root of the decreasing derivative, with bisection as a safeguard.
double LargestLogRatio(const std::vector<double>& z, double most) {
  constexpr int kMostSteps = 60;
  double low = 0;
  double high = most;
  double lambda = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    double slope = 0;
    double curvature = 0;
    for (const double each : z) {
      const double u = each / (1 + lambda * each);
      slope += u;
      curvature += u * u;
    }
    (slope > 0 ? low : high) = lambda;
    // Further steps would add about slope² / curvature / 2.
    if (slope * slope <= 1e-12 * curvature || high - low <= 1e-12 * most) break;
    const double newton = lambda + slope / curvature;
    lambda = newton > low && newton < high ? newton : low + (high - low) / 2;
  }
  return SumOfLogs(z, lambda);
}

double LogRatio(const LikelihoodTask& task, double theta) {
  const std::vector<double>& numerator = task.column.numerator;
  const std::vector<double>& denominator = task.column.denominator;
  std::vector<double> z(numerator.size());
  double least = task.least_term - theta;
  double sum = 0;
  for (size_t b = 0; b < z.size(); ++b) {
    z[b] = numerator[b] - theta * denominator[b];
    least = std::min(least, z[b]);
    sum += z[b];
  }
  if (!(sum > 0)) return 0;
  if (!(least < 0)) return std::numeric_limits<double>::infinity();
  return LargestLogRatio(z, -1 / least);
}

}  // namespace

double LikelihoodLowerBound(const LikelihoodTask& task, double most_log_ratio) {
  const double count = stable::Sum(task.column.denominator);
  if (!(count > 0)) return task.least;
  double likely = stable::Sum(task.column.numerator) / count;
  double unlikely = task.least;
  if (!(likely > unlikely)) return likely;
  if (LogRatio(task, unlikely) <= most_log_ratio) return unlikely;
  constexpr int kSteps = 28;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = unlikely + (likely - unlikely) / 2;
    (LogRatio(task, middle) <= most_log_ratio ? likely : unlikely) = middle;
  }
  return unlikely;
}

}  // namespace sortition
