#pragma once
// Features as small numbers: the bin of a value among quantiles.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Bin b of a column holds the values in (edge b-1, edge b]; the last one has no
// edge. Edges are values that occur, so that the bin of a value is the same
// after any increasing transformation of the column.
class FeatureBins {
 public:
  static constexpr size_t kMaxBins = 64;

  // Edges are quantiles of `rows`, or all values if there are few.
  FeatureBins(std::span<const std::span<const float>> rows, size_t num_columns);

  size_t num_columns() const { return edges_.size(); }
  size_t num_bins(size_t column) const { return edges_[column].size() + 1; }
  float edge(size_t column, size_t bin) const { return edges_[column][bin]; }

  // Writes the bin of each column of `row`.
  void Apply(std::span<const float> row, std::span<uint8_t> bins) const;

 private:
  std::vector<std::vector<float>> edges_;  // By column, increasing.
};

}  // namespace sortition
