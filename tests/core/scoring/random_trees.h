#pragma once
// Random ensembles of trees, and features to score.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

struct RandomTreesOptions {
  model::v1::TreeEnsemble::NumberFormat format = model::v1::TreeEnsemble::FLOAT;
  uint32_t num_features = 7;
  int num_trees = 5;
  int num_splits = 20;  // At most, of each tree.
  bool has_categories = false;
  bool has_missing_zeros = false;
};

// A number of few values, so that features meet thresholds.
inline double RandomNumber(const RandomTreesOptions& options,
                           RandomSequence* random) {
  double number = 0.25 * static_cast<double>(random->Below(9)) - 1;
  // A double that is no float, a little above or below one.
  if (options.format == model::v1::TreeEnsemble::DOUBLE) {
    number += 1e-12 * (static_cast<double>(random->Below(3)) - 1);
  }
  return number;
}

// Grows a tree by splitting a random leaf again and again.
inline model::v1::Tree RandomTree(const RandomTreesOptions& options,
                                  RandomSequence* random) {
  model::v1::Tree tree;
  const auto num_splits = static_cast<int>(
      random->Below(static_cast<uint64_t>(options.num_splits) + 1));
  // Children that are leaves: the inner node, and whether on its left.
  std::vector<std::pair<int, bool>> open;
  tree.mutable_left_children()->Resize(num_splits, 0);
  tree.mutable_right_children()->Resize(num_splits, 0);
  for (int node = 0; node < num_splits; ++node) {
    if (node > 0) {
      const size_t chosen = random->Below(open.size());
      const auto [parent, is_left] = open[chosen];
      (is_left ? tree.mutable_left_children() : tree.mutable_right_children())
          ->Set(parent, node);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    open.push_back({node, true});
    open.push_back({node, false});
    tree.add_split_features(
        static_cast<uint32_t>(random->Below(options.num_features)));
    tree.add_missing_left(random->Uniform() < 0.5);
    const bool by_category = options.has_categories && random->Uniform() < 0.3;
    tree.add_thresholds(by_category ? 0 : RandomNumber(options, random));
    if (options.has_missing_zeros) {
      tree.add_zero_is_missing(!by_category && random->Uniform() < 0.3);
    }
    if (by_category) {
      auto* split = tree.add_categorical_splits();
      split->set_node(static_cast<uint32_t>(node));
      const uint64_t num_words = random->Below(3);
      for (uint64_t i = 0; i < num_words; ++i)
        split->add_categories((*random)());
    }
  }
  for (size_t leaf = 0; leaf < open.size(); ++leaf) {
    const auto [parent, is_left] = open[leaf];
    (is_left ? tree.mutable_left_children() : tree.mutable_right_children())
        ->Set(parent, -1 - static_cast<int>(leaf));
  }
  for (int leaf = 0; leaf <= num_splits; ++leaf) {
    const double value = random->Normal();
    tree.add_leaf_values(options.format == model::v1::TreeEnsemble::FLOAT
                             ? static_cast<float>(value)
                             : value);
  }
  return tree;
}

inline model::v1::TreeEnsemble RandomTrees(const RandomTreesOptions& options,
                                           RandomSequence* random) {
  model::v1::TreeEnsemble ensemble;
  ensemble.set_num_features(options.num_features);
  ensemble.set_number_format(options.format);
  ensemble.set_base_score(0.5);
  for (int i = 0; i < options.num_trees; ++i) {
    *ensemble.add_trees() = RandomTree(options, random);
  }
  return ensemble;
}

// Values on thresholds, beside them, and what is special.
inline float RandomFeature(bool with_missing, RandomSequence* random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto near =
      static_cast<float>(0.25 * static_cast<double>(random->Below(9)) - 1);
  switch (random->Below(12)) {
    case 0:
      return std::nextafter(near, kInfinity);
    case 1:
      return std::nextafter(near, -kInfinity);
    case 2:
      return with_missing ? std::numeric_limits<float>::quiet_NaN() : near;
    case 3:
      return random->Uniform() < 0.5 ? kInfinity : -kInfinity;
    case 4:
      return random->Uniform() < 0.5 ? 1e-36f : -1e-36f;
    case 5:
      // A category.
      return static_cast<float>(random->Below(90)) - 5;
    case 6:
      return static_cast<float>(random->Normal());
    case 7:
      return random->Uniform() < 0.5 ? 1e30f : -0.0f;
    default:
      return near;
  }
}

inline std::vector<float> RandomFeatures(size_t count, bool with_missing,
                                         RandomSequence* random) {
  std::vector<float> features;
  for (size_t i = 0; i < count; ++i) {
    features.push_back(RandomFeature(with_missing, random));
  }
  return features;
}

}  // namespace sortition
