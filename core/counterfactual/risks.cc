#include "core/counterfactual/risks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace sortition {
namespace {

absl::Status ValidateLambda(double lambda) {
  // Written so that NaN fails too.
  if (lambda >= 0 && std::isfinite(lambda)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lambda is ", lambda, ", must be finite and at least 0"));
}

// Returns log(-λ ρ δ), computed so that no weight overflows.
double LogSmoothedLogTerm(double loss, double log_weight, double lambda) {
  return loss == 0 ? -std::numeric_limits<double>::infinity()
                   : std::log(-lambda * loss) + log_weight;
}

}  // namespace

double LogSmoothedLoss(double loss, double log_weight, double lambda) {
  const double log_term = LogSmoothedLogTerm(loss, log_weight, lambda);
  const double value = log_term > 0 ? log_term + std::log1p(std::exp(-log_term))
                                    : std::log1p(std::exp(log_term));
  return -value / lambda;
}

double LogSmoothedLossSlope(double loss, double log_weight, double lambda) {
  const double log_term = LogSmoothedLogTerm(loss, log_weight, lambda);
  return -1 / (lambda * (1 + std::exp(-log_term)));
}

absl::Status ValidateClipAndLambda(double clip, double lambda) {
  if (!(clip >= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip is ", clip, ", must be at least 1"));
  }
  return ValidateLambda(lambda);
}

absl::StatusOr<SelfNormalisedRisk> SelfNormalisedRisk::Create(double lambda) {
  const absl::Status status = ValidateLambda(lambda);
  if (!status.ok()) return status;
  return SelfNormalisedRisk(lambda);
}

double SelfNormalisedRisk::EvaluateSample(const RiskSample& sample,
                                          std::span<double> slopes) const {
  const auto& [losses, log_weights, counts] = sample;
  DCHECK(losses.size() == log_weights.size());
  double largest = -std::numeric_limits<double>::infinity();
  for (const double log_weight : log_weights) {
    largest = std::max(largest, log_weight);
  }
  if (std::isinf(largest)) {
    std::fill(slopes.begin(), slopes.end(), 0);
    return 0;
  }
  // Σ ρ and Σ δρ, relative to the largest weight.
  double sum = 0;
  double loss_sum = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double weight = sample.count(i) * std::exp(log_weights[i] - largest);
    sum += weight;
    loss_sum += losses[i] * weight;
  }
  const double mean = loss_sum / sum;
  double squares = 0;  // Σ (δ - S)² ρ²
  double cross = 0;    // Σ (δ - S) ρ², -½ ∂(Σ (δ - S)² ρ²) / ∂S
  for (size_t i = 0; i < losses.size(); ++i) {
    const double weight = std::exp(log_weights[i] - largest);
    const double residual = losses[i] - mean;
    const double count = sample.count(i);
    squares += count * (residual * residual * weight * weight);
    cross += count * (residual * weight * weight);
  }
  const double error = std::sqrt(squares) / sum;  // √V
  for (size_t i = 0; i < slopes.size(); ++i) {
    const double weight = std::exp(log_weights[i] - largest);
    const double residual = losses[i] - mean;
    const double mean_slope = weight * residual / sum;
    double slope = mean_slope;
    if (error > 0) {
      const double squares_slope =
          2 * residual * residual * weight * weight - 2 * cross * mean_slope;
      const double variance_slope =
          (squares_slope - 2 * squares * weight / sum) / (sum * sum);
      slope += lambda_ * variance_slope / (2 * error);
    }
    slopes[i] = sample.count(i) * slope;
  }
  return mean + lambda_ * error;
}

absl::StatusOr<LogSmoothingRisk> LogSmoothingRisk::Create(double lambda) {
  if (!(lambda > 0 && std::isfinite(lambda))) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be finite and positive"));
  }
  return LogSmoothingRisk(lambda);
}

double LogSmoothingRisk::EvaluateSample(const RiskSample& sample,
                                        std::span<double> slopes) const {
  const auto& [losses, log_weights, counts] = sample;
  DCHECK(losses.size() == log_weights.size());
  double n = 0;
  double sum = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double count = sample.count(i);
    n += count;
    sum += count * LogSmoothedLoss(losses[i], log_weights[i], lambda_);
  }
  for (size_t i = 0; i < slopes.size(); ++i) {
    slopes[i] = sample.count(i) *
                LogSmoothedLossSlope(losses[i], log_weights[i], lambda_) / n;
  }
  return sum / n;
}

double LogSmoothingBound(double risk, double lambda, uint64_t num_tuples,
                         double failure_probability) {
  return -std::expm1(-lambda * risk + std::log(failure_probability) /
                                          static_cast<double>(num_tuples)) /
         lambda;
}

}  // namespace sortition
