#include "core/learners/counterfactual/policy_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

template <typename Sample>
double CountAt(const Sample& sample, size_t i) {
  return sample.counts.empty() ? 1 : sample.counts[i];
}

// Σ (Σ c d)² over units, with the inner sum over the tuples of a unit, times G
// / (G - 1) for G units; infinity for a single one.
template <typename Sample>
double SquaresByUnit(const Sample& sample, std::span<const double> deviations) {
  std::vector<std::pair<uint64_t, double>> parts;
  for (size_t i = 0; i < deviations.size(); ++i) {
    parts.emplace_back(sample.units[i], CountAt(sample, i) * deviations[i]);
  }
  std::sort(parts.begin(), parts.end());
  double squares = 0;
  double num_units = 0;
  for (size_t i = 0; i < parts.size(); ++num_units) {
    const uint64_t unit = parts[i].first;
    double sum = 0;
    for (; i < parts.size() && parts[i].first == unit; ++i) {
      sum += parts[i].second;
    }
    squares += sum * sum;
  }
  return num_units > 1 ? num_units / (num_units - 1) * squares
                       : std::numeric_limits<double>::infinity();
}

// Returns the mean of values of the tuples, with its standard error.
template <typename Sample>
MeanWeight MeanOf(const Sample& sample, std::vector<double> values) {
  Moments moments;
  for (size_t i = 0; i < values.size(); ++i) {
    moments.Add(values[i], CountAt(sample, i));
  }
  if (sample.units.empty()) {
    return {moments.mean(), std::sqrt(moments.variance() / moments.total())};
  }
  for (double& value : values) value -= moments.mean();
  return {moments.mean(),
          std::sqrt(SquaresByUnit(sample, values)) / moments.total()};
}

// One of the two policies of a sample.
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
    std::vector<double> weights(log_weights.size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = side.WeightAt(i);
    side.weight = MeanOf(sample, std::move(weights));
  }
  constexpr double kErrors = 2;
  side.share = std::fmin(1, side.weight.value + kErrors * side.weight.error);
  double weights = 0;
  double squares = 0;
  double rewards = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double count = CountAt(sample, i);
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
  std::vector<double> influences;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double r = sample.rewards[i];
    influences.push_back(own.InfluenceAt(i, r) - other.InfluenceAt(i, r));
  }
  return {.value = own.value() - other.value(),
          .of_supported = own.reward - other.reward,
          .standard_error = MeanOf(sample, std::move(influences)).error,
          .weight = own.weight,
          .effective_sample_size = own.effective_sample_size};
}

Gain GainOfTerms(const TermSample& sample, Gain gain) {
  std::vector<double> differences;
  for (size_t i = 0; i < sample.terms.size(); ++i) {
    differences.push_back(sample.other_terms[i] - sample.terms[i]);
  }
  const MeanWeight mean = MeanOf(sample, std::move(differences));
  gain.value = mean.value;
  gain.of_supported = mean.value;
  gain.standard_error = mean.error;
  return gain;
}

}  // namespace sortition
