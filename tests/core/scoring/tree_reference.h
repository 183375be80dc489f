#pragma once
// The score of a row as trees.proto states it: node by node, thresholds in
// double.
#include <cmath>
#include <cstdint>
#include <span>

#include "sortition/model/v1/trees.pb.h"

namespace sortition {

inline const model::v1::CategoricalSplit* FindCategoricalSplit(
    const model::v1::Tree& tree, int node) {
  for (const model::v1::CategoricalSplit& split : tree.categorical_splits()) {
    if (static_cast<int>(split.node()) == node) return &split;
  }
  return nullptr;
}

inline bool GoesLeft(const model::v1::TreeEnsemble& ensemble,
                     const model::v1::Tree& tree, int node, double x) {
  const bool is_float =
      ensemble.number_format() == model::v1::TreeEnsemble::FLOAT;
  const bool is_small = std::abs(x) <= static_cast<double>(1e-35f);
  if (std::isnan(x) || (is_small && tree.zero_is_missing_size() > 0 &&
                        tree.zero_is_missing(node))) {
    return tree.missing_left(node);
  }
  if (const auto* split = FindCategoricalSplit(tree, node)) {
    if (is_float && x < 0) return false;
    const double category = std::trunc(x);
    if (category < 0 || category >= 32.0 * split->categories_size()) {
      return false;
    }
    const auto c = static_cast<uint32_t>(category);
    return (split->categories(static_cast<int>(c / 32)) & (1u << c % 32)) != 0;
  }
  const double threshold = tree.thresholds(node);
  return is_float ? x < threshold : x <= threshold;
}

inline double ReferenceScore(const model::v1::TreeEnsemble& ensemble,
                             std::span<const float> row) {
  double sum = ensemble.base_score();
  auto float_sum = static_cast<float>(sum);
  for (const model::v1::Tree& tree : ensemble.trees()) {
    int node = tree.split_features_size() > 0 ? 0 : -1;
    while (node >= 0) {
      const double x = row[tree.split_features(node)];
      node = GoesLeft(ensemble, tree, node, x) ? tree.left_children(node)
                                               : tree.right_children(node);
    }
    const double value = tree.leaf_values(-1 - node);
    sum += value;
    float_sum += static_cast<float>(value);
  }
  const bool is_float =
      ensemble.number_format() == model::v1::TreeEnsemble::FLOAT;
  return is_float ? static_cast<double>(float_sum) : sum;
}

}  // namespace sortition
