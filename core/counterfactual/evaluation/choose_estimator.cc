#include "core/counterfactual/evaluation/choose_estimator.h"

#include <algorithm>
#include <cmath>

namespace sortition {
namespace {

// How much more biased the model may be on decisions of large weight.
constexpr double kCaution = 3;

// The share of the policy's probability that clipping at kClips[clip] cuts off.
double ShareCut(const PolicySums& sums, size_t policy, size_t clip) {
  const auto mean_of = [&](ClippedTerm term) {
    return sums.weights(policy).Of(term, clip, sums.rewards()).mean;
  };
  return std::max(
      0.0, 1 - mean_of(ClippedTerm::kReward) - mean_of(ClippedTerm::kRegret));
}

}  // namespace

Estimator ChooseEstimator(const PolicySums& sums, size_t policy,
                          bool has_model) {
  Estimator best = {EstimatorKind::kSelfNormalised};
  if (!has_model) return best;
  const auto estimate = [&](const Estimator& estimator) {
    return EstimateRatios(sums.sums(), sums.RatiosOf(policy, estimator));
  };
  double least = estimate(best).standard_error;
  const auto consider = [&](const Estimator& estimator, double bias) {
    const double error = std::hypot(estimate(estimator).standard_error, bias);
    if (error >= least) return;
    least = error;
    best = estimator;
  };
  consider({EstimatorKind::kSelfNormalisedDr}, 0);
  const double model_bias =
      std::fabs(estimate({EstimatorKind::kDirect}).value -
                estimate({EstimatorKind::kSelfNormalisedDr}).value);
  for (size_t clip = 0; clip < kNumParameters; ++clip) {
    consider({EstimatorKind::kClippedDr, kClips[clip]},
             kCaution * ShareCut(sums, policy, clip) * model_bias);
  }
  return best;
}

}  // namespace sortition
