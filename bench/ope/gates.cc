#include "bench/ope/gates.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "io/models/look_ledger.h"

namespace sortition {
namespace {

template <typename T>
std::span<const T> First(const std::vector<T>& values, size_t size) {
  return std::span(values).first(std::min(size, values.size()));
}

}  // namespace

GateSample SampleOf(std::span<const LoggedDecision> log) {
  GateSample sample;
  for (const LoggedDecision& decision : log) {
    sample.rewards.push_back(decision.reward);
    sample.log_weights.push_back(decision.judged.log_weight);
    sample.units.push_back(decision.unit);
  }
  return sample;
}

double BettingGate(const GateSample& sample, size_t size, uint64_t look) {
  const double share = look > 0 ? ShareOfLook(look) : 1;
  return EstimateImprovement(
             {.rewards = First(sample.rewards, size),
              .log_weights = First(sample.log_weights, size),
              .units = First(sample.units, size),
              // Known: units of a world have one size.
              .largest_unit = static_cast<double>(LargestUnit(sample.units))},
             1 - (1 - kGateConfidence) * share)
      .lower;
}

double BernsteinGate(const GateSample& validation, const GateSample& sample,
                     size_t size) {
  const double clip = ChooseEvaluationClip(First(validation.rewards, size),
                                           First(validation.log_weights, size),
                                           size, kGateConfidence);
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < std::min(size, sample.rewards.size()); ++i) {
    estimator.Add(sample.rewards[i], sample.log_weights[i]);
  }
  return estimator.Estimate(kGateConfidence).improvement.lower;
}

double NormalGate(const GateSample& sample, size_t size, bool by_unit) {
  const size_t n = std::min(size, sample.rewards.size());
  double mean = 0;
  std::vector<double> gains;
  for (size_t i = 0; i < n; ++i) {
    gains.push_back(std::expm1(sample.log_weights[i]) * sample.rewards[i]);
    mean += gains[i] / static_cast<double>(n);
  }
  absl::flat_hash_map<uint64_t, double> residuals;
  for (size_t i = 0; i < n; ++i) {
    residuals[by_unit ? sample.units[i] : i] += gains[i] - mean;
  }
  double squares = 0;
  for (const auto& [unit, residual] : residuals) squares += residual * residual;
  const double groups = static_cast<double>(residuals.size());
  const double error =
      std::sqrt(squares * groups / (groups - 1)) / static_cast<double>(n);
  return mean - NormalQuantile((1 + kGateConfidence) / 2) * error;
}

}  // namespace sortition
