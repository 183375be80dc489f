#include "process/status/metric_figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {

const std::vector<MetricSample>& SamplesOf(const MetricSamples& samples,
                                           const std::string& name) {
  static const auto* const kNone = new std::vector<MetricSample>;
  const auto found = samples.find(name);
  return found == samples.end() ? *kNone : found->second;
}

const std::string& LabelOf(const MetricSample& sample,
                           const std::string& label) {
  static const auto* const kNone = new std::string;
  const auto found = sample.labels.find(label);
  return found == sample.labels.end() ? *kNone : found->second;
}

const MetricSample* FindSample(const MetricSamples& samples,
                               const std::string& name,
                               const MetricLabels& labels) {
  const std::vector<MetricSample>& all = SamplesOf(samples, name);
  const auto found = std::lower_bound(
      all.begin(), all.end(), labels,
      [](const MetricSample& sample, const MetricLabels& wanted) {
        return sample.labels < wanted;
      });
  return found == all.end() || found->labels != labels ? nullptr : &*found;
}

double ValueOf(const MetricSamples& samples, const std::string& name,
               const MetricLabels& labels) {
  const MetricSample* const found = FindSample(samples, name, labels);
  return found == nullptr ? 0 : found->value;
}

double IncreaseOf(const MetricSamples& now, const MetricSamples& before,
                  const std::string& name, const MetricLabels& labels) {
  const double value = ValueOf(now, name, labels);
  const double earlier = ValueOf(before, name, labels);
  return value < earlier ? value : value - earlier;
}

std::vector<uint64_t> BinIncreases(const MetricSamples& now,
                                   const MetricSamples& before,
                                   const std::string& name,
                                   const MetricLabels& labels) {
  const MetricSample* const sample = FindSample(now, name, labels);
  if (sample == nullptr) return {};
  const MetricSample* const earlier = FindSample(before, name, labels);
  std::vector<uint64_t> increases = sample->counts;
  if (earlier == nullptr || earlier->counts.size() != increases.size()) {
    return increases;
  }
  for (size_t i = 0; i < increases.size(); ++i) {
    if (increases[i] < earlier->counts[i]) return sample->counts;
    increases[i] -= earlier->counts[i];
  }
  return increases;
}

double QuantileOfBins(std::span<const double> bounds,
                      std::span<const uint64_t> counts, double probability) {
  const auto total = static_cast<double>(
      std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  double left = probability * total;
  for (size_t i = 0; i < std::min(bounds.size(), counts.size()); ++i) {
    const auto count = static_cast<double>(counts[i]);
    if (count > 0 && left <= count) {
      const double begin = i == 0 ? 0 : bounds[i - 1];
      return begin + (bounds[i] - begin) * left / count;
    }
    left -= count;
  }
  return total == 0 || bounds.empty() ? 0 : bounds.back();
}

void SetHistogram(const MetricSample& sample,
                  status::v1::Histogram* histogram) {
  histogram->mutable_bounds()->Assign(sample.bounds.begin(),
                                      sample.bounds.end());
  histogram->mutable_counts()->Assign(sample.counts.begin(),
                                      sample.counts.end());
}

}  // namespace sortition
