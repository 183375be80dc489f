#include "core/counterfactual/reward_models/regression_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sortition {
namespace {

constexpr size_t kDepth = RegressionTree::kDepth;

}  // namespace

TreeGrower::TreeGrower(const FeatureBins& bins, std::span<const uint8_t> binned)
    : bins_(bins), binned_(binned) {}

double TreeGrower::LeafOf(const Sums& sums) {
  return sums.gradient / (sums.weight + kLeafPenalty);
}

// The squared error that a leaf takes away.
double TreeGrower::ScoreOf(const Sums& sums) {
  return sums.gradient * sums.gradient / (sums.weight + kLeafPenalty);
}

std::optional<RegressionTree> TreeGrower::Grow(
    std::span<uint32_t> examples, std::span<const double> gradients,
    std::span<const double> weights) {
  gradients_ = gradients;
  weights_ = weights;
  tree_.columns.fill(0);
  tree_.thresholds.fill(std::numeric_limits<float>::infinity());
  tree_.bins.fill(std::numeric_limits<uint8_t>::max());
  Node root = {.index = 0, .depth = 0, .examples = examples, .sums = {}};
  for (const uint32_t i : examples) {
    root.sums.gradient += gradients[i];
    root.sums.weight += weights[i];
  }
  Histogram histogram = HistogramOf(examples);
  const std::optional<Split> split = BestSplit(histogram, root.sums);
  if (!split.has_value()) return std::nullopt;
  SplitNode(root, *split, std::move(histogram));
  return tree_;
}

TreeGrower::Histogram TreeGrower::HistogramOf(
    std::span<const uint32_t> examples) const {
  const size_t num_columns = bins_.num_columns();
  Histogram histogram(num_columns * FeatureBins::kMaxBins);
  for (const uint32_t i : examples) {
    const Sums added = {gradients_[i], weights_[i]};
    const uint8_t* const row = binned_.data() + i * num_columns;
    for (size_t j = 0; j < num_columns; ++j) {
      Sums& bin = histogram[j * FeatureBins::kMaxBins + row[j]];
      bin.gradient += added.gradient;
      bin.weight += added.weight;
    }
  }
  return histogram;
}

std::optional<TreeGrower::Split> TreeGrower::BestSplit(
    const Histogram& histogram, const Sums& sums) const {
  std::optional<Split> best;
  double best_score = ScoreOf(sums);
  for (size_t j = 0; j < bins_.num_columns(); ++j) {
    const Sums* const column = histogram.data() + j * FeatureBins::kMaxBins;
    Sums left;
    for (size_t b = 0; b + 1 < bins_.num_bins(j); ++b) {
      left.gradient += column[b].gradient;
      left.weight += column[b].weight;
      const Sums right = {sums.gradient - left.gradient,
                          sums.weight - left.weight};
      if (left.weight < kLeastLeafWeight) continue;
      if (right.weight < kLeastLeafWeight) break;
      const double score = ScoreOf(left) + ScoreOf(right);
      if (score > best_score) {
        best_score = score;
        best = {j, b, left};
      }
    }
  }
  return best;
}

void TreeGrower::GrowNode(const Node& node, Histogram histogram) {
  if (node.depth < kDepth) {
    const std::optional<Split> split = BestSplit(histogram, node.sums);
    if (split.has_value()) {
      SplitNode(node, *split, std::move(histogram));
      return;
    }
  }
  // All leaves below: the first of depth d is node 2^d - 1.
  const size_t below = size_t{1} << (kDepth - node.depth);
  const size_t first = (node.index + 1 - (size_t{1} << node.depth)) * below;
  std::fill_n(tree_.leaves.begin() + static_cast<ptrdiff_t>(first), below,
              LeafOf(node.sums));
}

void TreeGrower::SplitNode(const Node& node, const Split& split,
                           Histogram histogram) {
  tree_.columns[node.index] = static_cast<uint32_t>(split.column);
  tree_.thresholds[node.index] = bins_.edge(split.column, split.bin);
  tree_.bins[node.index] = static_cast<uint8_t>(split.bin);
  const size_t num_columns = bins_.num_columns();
  // Stable, so that sums have one order.
  const auto middle = std::stable_partition(
      node.examples.begin(), node.examples.end(), [&](uint32_t i) {
        return binned_[i * num_columns + split.column] <= split.bin;
      });
  const auto num_left = static_cast<size_t>(middle - node.examples.begin());
  const Node left = {.index = 2 * node.index + 1,
                     .depth = node.depth + 1,
                     .examples = node.examples.first(num_left),
                     .sums = split.left};
  const Node right = {.index = 2 * node.index + 2,
                      .depth = node.depth + 1,
                      .examples = node.examples.subspan(num_left),
                      .sums = {node.sums.gradient - split.left.gradient,
                               node.sums.weight - split.left.weight}};
  if (left.depth == kDepth) {
    GrowNode(left, {});
    GrowNode(right, {});
    return;
  }
  // The histogram of the larger child is the parent's without the smaller's.
  const bool left_is_smaller = left.examples.size() < right.examples.size();
  Histogram smaller =
      HistogramOf(left_is_smaller ? left.examples : right.examples);
  for (size_t k = 0; k < smaller.size(); ++k) {
    histogram[k].gradient -= smaller[k].gradient;
    histogram[k].weight -= smaller[k].weight;
  }
  GrowNode(left_is_smaller ? left : right, std::move(smaller));
  GrowNode(left_is_smaller ? right : left, std::move(histogram));
}

}  // namespace sortition
