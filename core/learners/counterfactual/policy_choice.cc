#include "core/learners/counterfactual/policy_choice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/counterfactual/moments.h"
#include "core/learners/counterfactual/weighted_tuples.h"

namespace sortition {
namespace {

// Estimates of one of the two policies of a sample.
struct SideOfGain {
  std::span<const double> log_weights;  // Empty: all weights are 1.
  MeanWeight weight{1, 0};
  double share = 1;   // m
  double reward = 0;  // S
  double effective_sample_size = 0;

  double WeightAt(size_t i) const {
    return log_weights.empty() ? 1 : std::exp(std::fmin(log_weights[i], 300));
  }
  double value() const { return share * reward; }
  double InfluenceAt(size_t i, double r) const {
    if (!(weight.value > 0)) return 0;
    return share * WeightAt(i) * (r - reward) / weight.value;
  }
};

SideOfGain SideOf(const GainSample& sample,
                  std::span<const double> log_weights) {
  SideOfGain side{.log_weights = log_weights};
  if (!log_weights.empty()) {
    side.weight = MeanWeightOf(log_weights, sample.counts);
  }
  constexpr double kErrors = 2;
  side.share = std::fmin(1, side.weight.value + kErrors * side.weight.error);
  double weights = 0;
  double squares = 0;
  double rewards = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double count = sample.counts.empty() ? 1 : sample.counts[i];
    const double weight = side.WeightAt(i);
    weights += count * weight;
    squares += count * weight * weight;
    rewards += count * weight * sample.rewards[i];
  }
  if (!(weights > 0)) return side;
  side.reward = rewards / weights;
  side.effective_sample_size = weights * weights / squares;
  return side;
}

}  // namespace

Gain SelfNormalisedGain(const GainSample& sample) {
  const SideOfGain own = SideOf(sample, sample.log_weights);
  const SideOfGain other = SideOf(sample, sample.other_log_weights);
  Moments influence;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double r = sample.rewards[i];
    influence.Add(own.InfluenceAt(i, r) - other.InfluenceAt(i, r),
                  sample.counts.empty() ? 1 : sample.counts[i]);
  }
  return {.value = own.value() - other.value(),
          .of_supported = own.reward - other.reward,
          .standard_error = std::sqrt(influence.variance() / influence.total()),
          .weight = own.weight,
          .effective_sample_size = own.effective_sample_size};
}

}  // namespace sortition
