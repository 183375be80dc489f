#include "core/features/drift/value_sketch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace sortition {

void RunningMoments::Add(double value) {
  ++count_;
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

double RunningMoments::variance() const {
  return count_ == 0 ? 0 : squares_ / static_cast<double>(count_);
}

double RunningMoments::Scale() const {
  const double scale = std::sqrt(variance());
  return std::isnormal(scale) ? scale : 1;
}

std::vector<double> QuantileEdges(std::vector<double> values, size_t num_bins) {
  std::vector<double> edges;
  if (values.empty()) return edges;
  std::sort(values.begin(), values.end());
  std::vector<double> distinct;
  std::unique_copy(values.begin(), values.end(), std::back_inserter(distinct));
  if (distinct.size() <= num_bins) {
    edges.assign(distinct.begin() + 1, distinct.end());
    return edges;
  }
  for (size_t i = 1; i < num_bins; ++i) {
    const double edge = values[i * values.size() / num_bins];
    if (edge > (edges.empty() ? values.front() : edges.back())) {
      edges.push_back(edge);
    }
  }
  return edges;
}

ValueSample::ValueSample() : random_(SeedKey(0)) {}

void ValueSample::Add(double value) {
  ++count_;
  if (values_.size() < kMost) {
    values_.push_back(value);
    return;
  }
  const uint64_t place = random_.Below(count_);
  if (place < kMost) values_[place] = value;
}

void ValueSketch::Add(double value) {
  min_ = moments_.count() == 0 ? value : std::min(min_, value);
  max_ = moments_.count() == 0 ? value : std::max(max_, value);
  moments_.Add(value);
  sample_.Add(value);
}

model::v1::ValueStatistics ValueSketch::Finish(absl::string_view name) const {
  model::v1::ValueStatistics statistics;
  statistics.set_name(std::string(name));
  statistics.set_count(moments_.count());
  statistics.set_missing(missing_);
  statistics.set_mean(moments_.mean());
  statistics.set_variance(moments_.variance());
  statistics.set_min(min_);
  statistics.set_max(max_);
  for (const double edge : QuantileEdges(sample_.values(), kNumBins)) {
    statistics.add_edges(edge);
  }
  std::vector<uint64_t> counts(statistics.edges_size() + 1);
  for (const double value : sample_.values()) {
    ++counts[BinOf(statistics, value)];
  }
  statistics.mutable_bin_counts()->Add(counts.begin(), counts.end());
  return statistics;
}

void CategorySketch::Add(absl::string_view category) {
  auto found = counts_.find(category);
  if (found == counts_.end()) {
    found = counts_.emplace(std::string(category), 0).first;
  }
  ++found->second;
}

std::vector<std::pair<std::string, uint64_t>> CategorySketch::MostFrequent(
    size_t most, uint64_t min_count) const {
  std::vector<std::pair<std::string, uint64_t>> values;
  for (const auto& [value, count] : counts_) {
    if (count >= min_count) values.emplace_back(value, count);
  }
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (values.size() > most) values.resize(most);
  return values;
}

model::v1::ValueStatistics CategorySketch::Finish(
    absl::string_view name) const {
  model::v1::ValueStatistics statistics;
  statistics.set_name(std::string(name));
  statistics.set_missing(missing_);
  uint64_t all = 0;
  for (const auto& [value, count] : counts_) all += count;
  statistics.set_count(all);
  for (const auto& [value, count] : MostFrequent(kMostListed, 1)) {
    statistics.add_categories(value);
    statistics.add_category_counts(count);
    all -= count;
  }
  statistics.set_other_categories(all);
  return statistics;
}

size_t BinOf(const model::v1::ValueStatistics& statistics, double value) {
  return static_cast<size_t>(std::upper_bound(statistics.edges().begin(),
                                              statistics.edges().end(), value) -
                             statistics.edges().begin());
}

}  // namespace sortition
