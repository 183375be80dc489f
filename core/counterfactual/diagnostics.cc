#include "core/counterfactual/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/check.h"
#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

// Keeps squares and their sums finite, as in estimators.cc.
constexpr double kMaxDiagnosedLogWeight = 300;

// Log-propensities above this count as log 1, to allow for rounding.
constexpr double kCertain = -1e-9;

double WeightOf(double log_weight) {
  return std::exp(std::fmin(log_weight, kMaxDiagnosedLogWeight));
}

// Returns the mean of the weights and `zeros` more weights of 0.
MeanWeight MeanOf(Moments moments, uint64_t zeros) {
  for (uint64_t i = 0; i < zeros; ++i) moments.Add(0);
  return {moments.mean(),
          std::sqrt(moments.variance() / static_cast<double>(moments.count()))};
}

// Requires that `descending` is not empty.
double Percentile(const std::vector<double>& descending, double q) {
  const double n = static_cast<double>(descending.size());
  const double rank = std::clamp(std::ceil(q * n), 1.0, n);
  return descending[descending.size() - static_cast<size_t>(rank)];
}

// Returns how many of the largest weights it takes to reach half of `sum`.
uint64_t HalfWeightTuples(const std::vector<double>& descending, double sum) {
  double so_far = 0;
  uint64_t count = 0;
  while (count < descending.size() && so_far < sum / 2) {
    so_far += descending[count++];
  }
  return count;
}

void MeasureWeights(const OverlapSample& sample, Overlap* overlap) {
  Moments moments;
  std::vector<double> weights;
  weights.reserve(sample.log_weights.size());
  for (const double log_weight : sample.log_weights) {
    weights.push_back(WeightOf(log_weight));
    moments.Add(weights.back());
  }
  overlap->weight = MeanOf(moments, sample.impossible);
  std::sort(weights.begin(), weights.end(), std::greater<>());
  overlap->median_weight = Percentile(weights, 0.5);
  overlap->weight_p90 = Percentile(weights, 0.9);
  overlap->weight_p99 = Percentile(weights, 0.99);
  overlap->largest_weight = weights[0];
  // Weights are taken relative to the largest, so that the squares of tiny
  // weights do not underflow.
  const double largest = weights[0];
  if (largest == 0) return;
  double sum = 0;
  double squares = 0;
  double above = 0;
  uint64_t clipped = 0;
  for (const double weight : weights) {
    const double relative = weight / largest;
    sum += relative;
    squares += relative * relative;
    if (weight <= sample.clip) continue;
    ++clipped;
    above += (weight - sample.clip) / largest;
  }
  const double n = static_cast<double>(weights.size());
  overlap->effective_sample_size = sum * sum / squares;
  overlap->largest_share = 1 / sum;
  overlap->half_weight_tuples = HalfWeightTuples(weights, sum * largest);
  overlap->clipped_fraction = static_cast<double>(clipped) / n;
  overlap->clipped_mass = above / sum;
}

void MeasurePropensities(const OverlapSample& sample, Overlap* overlap) {
  Moments uniform;
  uint64_t certain = 0;
  for (size_t i = 0; i < sample.log_propensities.size(); ++i) {
    const double log_p = sample.log_propensities[i];
    overlap->smallest_propensity =
        std::min(overlap->smallest_propensity, std::exp(log_p));
    if (log_p >= kCertain) ++certain;
    const double weight = WeightOf(sample.log_uniform[i] - log_p);
    uniform.Add(weight);
    overlap->largest_uniform_weight =
        std::max(overlap->largest_uniform_weight, weight);
  }
  const double n = static_cast<double>(overlap->num_tuples);
  overlap->deterministic_fraction = static_cast<double>(certain) / n;
  overlap->shown_otherwise_fraction =
      static_cast<double>(sample.shown_otherwise) / n;
  overlap->without_full_support_fraction =
      static_cast<double>(sample.without_full_support) / n;
  overlap->uniform_weight = MeanOf(uniform, sample.impossible);
}

}  // namespace

Overlap MeasureOverlap(const OverlapSample& sample) {
  CHECK(sample.log_weights.size() == sample.log_propensities.size());
  CHECK(sample.log_weights.size() == sample.log_uniform.size());
  CHECK(sample.clip >= 1);
  Overlap overlap;
  overlap.clip = sample.clip;
  overlap.num_tuples = sample.log_weights.size();
  if (overlap.num_tuples == 0) return overlap;
  MeasureWeights(sample, &overlap);
  MeasurePropensities(sample, &overlap);
  return overlap;
}

}  // namespace sortition
