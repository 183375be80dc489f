#include "core/counterfactual/crm.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// The exponential of a larger number overflows a double.
constexpr double kLargestLogWeight = 709;

absl::Status ValidateOptions(const CrmOptions& options) {
  // Written so that NaN fails too.
  if (!(options.clip >= 1 && std::isfinite(options.clip))) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip is ", options.clip, ", must be at least 1"));
  }
  if (!(options.lambda >= 0 && std::isfinite(options.lambda))) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", options.lambda, ", must be at least 0"));
  }
  if (!(options.l2 >= 0 && std::isfinite(options.l2))) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", options.l2, ", must be at least 0"));
  }
  return absl::OkStatus();
}

}  // namespace

double ClippedLoss(double loss, double log_weight, double clip) {
  return loss * std::fmin(clip, std::exp(log_weight));
}

void ClippedLosses(std::span<const double> losses, double clip,
                   std::span<double> values, std::span<double> slopes) {
  DCHECK(values.size() == losses.size() && slopes.size() == losses.size());
  for (double& value : values) value = std::fmin(value, kLargestLogWeight);
  stable::ExpInPlace(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double weight = values[i];
    const double loss = losses[i];
    values[i] = loss * (weight < clip ? weight : clip);
    slopes[i] = weight < clip ? loss * weight : 0;
  }
}

absl::Status ValidateCrm(const TuplePolicy& policy, const CrmOptions& options) {
  RETURN_IF_ERROR(ValidateOptions(options));
  if (policy.num_tuples() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tuples: there are ", policy.num_tuples(), ", must be at least 2"));
  }
  double total = 0;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    const double loss = policy.loss(i);
    if (!(loss >= -1 && loss <= 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "loss of tuple ", i, " is ", loss, ", must be in [-1, 0]"));
    }
    const double log_propensity = policy.log_propensity(i);
    if (!(log_propensity <= 0 && std::isfinite(log_propensity))) {
      return absl::InvalidArgumentError(
          absl::StrCat("log-propensity of tuple ", i, " is ", log_propensity,
                       ", must be finite and at most 0"));
    }
    const double weight = policy.weight(i);
    if (!(weight > 0 && std::isfinite(weight))) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight of tuple ", i, " is ", weight,
                       ", must be finite and positive"));
    }
    total += weight;
  }
  // Shares of units add up to whole numbers but for rounding.
  constexpr double kRounding = 1e-9;
  if (!(total >= 2 - kRounding)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tuples: their weights add up to ", total, ", must be at least 2"));
  }
  return absl::OkStatus();
}

Moments MomentsOfLogging(const TuplePolicy& policy, double smoothing) {
  Moments losses;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    const double weight =
        smoothing == 1 ? 1
                       : std::exp((1 - smoothing) * policy.log_propensity(i));
    losses.Add(policy.loss(i) * weight, policy.weight(i));
  }
  return losses;
}

absl::StatusOr<double> CalibratedLambda(const TuplePolicy& policy,
                                        double smoothing) {
  const Moments losses = MomentsOfLogging(policy, smoothing);
  const double n = losses.total();
  if (losses.variance() > 0) {
    return -losses.mean() * std::sqrt(n / losses.variance());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "lambda_factor: all ", policy.num_tuples(),
      " training tuples have the loss ",
      smoothing == 1 ? "" : "times p^(1 - smoothing) ", losses.mean(),
      ", so lambda* is not defined; the losses must differ, or set lambda"));
}

VarianceMajoriser MajoriseStandardDeviation(const Moments& losses) {
  const double deviation = std::sqrt(losses.variance());
  if (deviation == 0) return {};
  const double n = losses.total();
  const double denominator = (n - 1) * deviation;
  return {.linear = -losses.mean() / denominator,
          .quadratic = 0.5 / denominator,
          .constant = n * losses.mean() * losses.mean() / (2 * denominator) +
                      deviation / 2};
}

}  // namespace sortition
