#include "core/counterfactual/reward_models/feature_bins.h"

#include <algorithm>

namespace sortition {
namespace {

// Returns the edges between `sorted` values, of which there is at least one.
std::vector<float> EdgesOf(const std::vector<float>& sorted) {
  std::vector<float> edges;
  std::unique_copy(sorted.begin(), sorted.end(), std::back_inserter(edges));
  if (edges.size() > FeatureBins::kMaxBins) {
    edges.clear();
    for (size_t b = 1; b <= FeatureBins::kMaxBins; ++b) {
      const float value = sorted[b * sorted.size() / FeatureBins::kMaxBins - 1];
      if (edges.empty() || value > edges.back()) edges.push_back(value);
    }
  }
  edges.pop_back();  // Nothing is beyond the largest.
  return edges;
}

}  // namespace

FeatureBins::FeatureBins(std::span<const std::span<const float>> rows,
                         size_t num_columns)
    : edges_(num_columns) {
  if (rows.empty()) return;
  std::vector<float> values(rows.size());
  for (size_t j = 0; j < num_columns; ++j) {
    for (size_t i = 0; i < rows.size(); ++i) values[i] = rows[i][j];
    std::sort(values.begin(), values.end());
    edges_[j] = EdgesOf(values);
  }
}

void FeatureBins::Apply(std::span<const float> row,
                        std::span<uint8_t> bins) const {
  for (size_t j = 0; j < edges_.size(); ++j) {
    bins[j] = static_cast<uint8_t>(
        std::lower_bound(edges_[j].begin(), edges_[j].end(), row[j]) -
        edges_[j].begin());
  }
}

}  // namespace sortition
