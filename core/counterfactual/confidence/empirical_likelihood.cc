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

// Returns the λ of sup Σ log(1 + λ z_b) over λ in [0, most), by Newton's method
// on the derivative, which falls, between bounds of its root.
double BestLambda(const std::vector<double>& z, double most) {
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
  return lambda;
}

// The best bet against θ.
struct BestBet {
  double log_wealth = 0;
  double largest_loss = 0;  // λ |z_e|: the share that one term can lose.
};

BestBet BetAgainst(const LikelihoodTask& task, double theta) {
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
  if (!(sum > 0)) return {};
  if (!(least < 0)) return {std::numeric_limits<double>::infinity(), 1};
  const double lambda = BestLambda(z, -1 / least);
  return {SumOfLogs(z, lambda), -lambda * least};
}

double LogRatio(const LikelihoodTask& task, double theta) {
  return BetAgainst(task, theta).log_wealth;
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

double CautiousLowerBound(const LikelihoodTask& task, double most_log_ratio,
                          double failure_probability) {
  constexpr double kLargestLoss = 0.5;
  const double bound = LikelihoodLowerBound(task, most_log_ratio);
  const double cautious = -std::log(failure_probability);
  if (cautious <= most_log_ratio ||
      BetAgainst(task, bound).largest_loss <= kLargestLoss) {
    return bound;
  }
  return LikelihoodLowerBound(task, cautious);
}

}  // namespace sortition
