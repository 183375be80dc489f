#pragma once
// A regression tree, and how it is grown from binned rows.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/counterfactual/reward_models/feature_bins.h"

namespace sortition {

// A complete tree: node i has the children 2i + 1 and 2i + 2. A row goes left
// where its column is at most the threshold. Where nothing is split the
// threshold is infinite.
struct RegressionTree {
  static constexpr size_t kDepth = 4;
  static constexpr size_t kLeaves = size_t{1} << kDepth;
  static constexpr size_t kNodes = kLeaves - 1;

  std::array<uint32_t, kNodes> columns;
  std::array<float, kNodes> thresholds;
  std::array<uint8_t, kNodes> bins;  // A binned row goes left up to this one.
  std::array<double, kLeaves> leaves;

  // Without branches, which nobody could predict.
  double Predict(std::span<const float> row) const {
    size_t node = 0;
    for (size_t depth = 0; depth < kDepth; ++depth) {
      node = 2 * node + 1 + (row[columns[node]] > thresholds[node]);
    }
    return leaves[node - kNodes];
  }
  double PredictBinned(std::span<const uint8_t> row) const {
    size_t node = 0;
    for (size_t depth = 0; depth < kDepth; ++depth) {
      node = 2 * node + 1 + (row[columns[node]] > bins[node]);
    }
    return leaves[node - kNodes];
  }
};

// Grows trees on the same rows for targets that change. A split takes away as
// much of Σ w (target - leaf)² as any at bin edges; a leaf is Σ w target /
// (Σ w + kLeafPenalty). Weights should have the mean 1.
class TreeGrower {
 public:
  static constexpr double kLeafPenalty = 10;
  static constexpr double kLeastLeafWeight = 20;

  // `bins` and `binned`, a row of bins.num_columns() bins for each example,
  // must outlive this object.
  TreeGrower(const FeatureBins& bins, std::span<const uint8_t> binned);

  // Grows a tree on the examples that are numbers in `examples`, which are
  // reordered. `gradients` has w · target of every example. Nothing if no split
  // is possible.
  std::optional<RegressionTree> Grow(std::span<uint32_t> examples,
                                     std::span<const double> gradients,
                                     std::span<const double> weights);

 private:
  struct Sums {
    double gradient = 0;
    double weight = 0;
  };
  using Histogram = std::vector<Sums>;  // kMaxBins for each column.
  struct Split {
    size_t column = 0;
    size_t bin = 0;
    Sums left;
  };
  struct Node {
    size_t index = 0;
    size_t depth = 0;
    std::span<uint32_t> examples;
    Sums sums;
  };

  static double LeafOf(const Sums& sums);
  static double ScoreOf(const Sums& sums);
  Histogram HistogramOf(std::span<const uint32_t> examples) const;
  std::optional<Split> BestSplit(const Histogram& histogram,
                                 const Sums& sums) const;
  void GrowNode(const Node& node, Histogram histogram);
  void SplitNode(const Node& node, const Split& split, Histogram histogram);

  const FeatureBins& bins_;
  std::span<const uint8_t> binned_;
  // Of the tree that is being grown:
  std::span<const double> gradients_;
  std::span<const double> weights_;
  RegressionTree tree_;
};

}  // namespace sortition
