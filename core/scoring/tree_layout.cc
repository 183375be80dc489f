#include "core/scoring/tree_layout.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace sortition {
namespace {

using model::v1::CategoricalSplit;
using model::v1::Tree;
using EnsembleMessage = model::v1::TreeEnsemble;

std::vector<uint32_t> UsedFeatures(const EnsembleMessage& ensemble) {
  std::vector<bool> is_used(ensemble.num_features());
  for (const Tree& tree : ensemble.trees()) {
    for (const uint32_t feature : tree.split_features()) {
      is_used[feature] = true;
    }
  }
  std::vector<uint32_t> used;
  for (uint32_t feature = 0; feature < ensemble.num_features(); ++feature) {
    if (is_used[feature]) used.push_back(feature);
  }
  return used;
}

// Appends trees to a layout.
class LayoutBuilder {
 public:
  LayoutBuilder(const EnsembleMessage& ensemble, TreeLayout* layout)
      : is_float_(ensemble.number_format() == EnsembleMessage::FLOAT),
        columns_(ensemble.num_features()),
        layout_(*layout) {
    layout_.features = UsedFeatures(ensemble);
    for (size_t i = 0; i < layout_.features.size(); ++i) {
      columns_[layout_.features[i]] = static_cast<uint32_t>(i);
    }
    for (const Tree& tree : ensemble.trees()) {
      has_categories_ |= tree.categorical_splits_size() > 0;
    }
    layout_.drops_negative_fractions = is_float_;
  }

  void Add(const Tree& tree) {
    TreeRange range{.root = static_cast<uint32_t>(layout_.nodes.size())};
    order_.assign(1, tree.split_features_size() > 0 ? 0 : -1);
    // End of the level in order_.
    size_t level_end = 1;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i == level_end) {
        ++range.depth;
        level_end = order_.size();
      }
      if (order_[i] < 0) {
        AddLeaf(tree.leaf_values(-1 - order_[i]), static_cast<uint32_t>(i));
      } else {
        AddSplit(tree, order_[i]);
      }
    }
    AddSets(tree, range.root);
    for (size_t i = range.root; i < layout_.rules.size(); ++i) {
      range.is_plain &= (layout_.rules[i] & ~kMissingRight) == 0;
    }
    layout_.trees.push_back(range);
  }

 private:
  void AddValue(double value) {
    if (is_float_) {
      layout_.float_values.push_back(static_cast<float>(value));
    } else {
      layout_.double_values.push_back(value);
    }
  }

  void AddLeaf(double value, uint32_t place) {
    layout_.nodes.push_back(
        {std::numeric_limits<float>::quiet_NaN(), 0, place});
    layout_.rules.push_back(0);
    AddValue(value);
  }

  // The children come to the end of order_.
  void AddSplit(const Tree& tree, int node) {
    const double threshold = tree.thresholds(node);
    layout_.nodes.push_back(
        {is_float_ ? static_cast<float>(threshold) : LeastFloatAbove(threshold),
         columns_[tree.split_features(node)],
         static_cast<uint32_t>(order_.size())});
    uint8_t rule = tree.missing_left(node) ? 0 : kMissingRight;
    if (tree.zero_is_missing_size() > 0 && tree.zero_is_missing(node)) {
      rule |= kZeroIsMissing;
    }
    layout_.rules.push_back(rule);
    AddValue(0);
    order_.push_back(tree.left_children(node));
    order_.push_back(tree.right_children(node));
  }

  void AddSets(const Tree& tree, size_t root) {
    if (!has_categories_) return;
    layout_.set_indexes.resize(layout_.nodes.size());
    std::vector<size_t> places(static_cast<size_t>(tree.split_features_size()));
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i] >= 0) places[static_cast<size_t>(order_[i])] = root + i;
    }
    for (const CategoricalSplit& split : tree.categorical_splits()) {
      const size_t place = places[split.node()];
      layout_.rules[place] |= kByCategory;
      layout_.set_indexes[place] = static_cast<uint32_t>(layout_.sets.size());
      layout_.sets.push_back(
          {static_cast<uint32_t>(layout_.category_words.size()),
           static_cast<uint32_t>(split.categories_size())});
      layout_.category_words.insert(layout_.category_words.end(),
                                    split.categories().begin(),
                                    split.categories().end());
    }
  }

  bool is_float_;
  bool has_categories_ = false;
  std::vector<uint32_t> columns_;  // By feature.
  std::vector<int> order_;  // Nodes of the tree breadth first, as in Tree.
  TreeLayout& layout_;
};

}  // namespace

TreeLayout MakeTreeLayout(const EnsembleMessage& ensemble) {
  TreeLayout layout;
  LayoutBuilder builder(ensemble, &layout);
  for (const Tree& tree : ensemble.trees()) builder.Add(tree);
  return layout;
}

float LeastFloatAbove(double threshold) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (threshold >= kLargest) return kInfinity;
  if (threshold < -kLargest) return -kLargest;
  const auto rounded = static_cast<float>(threshold);
  return rounded > threshold ? rounded : std::nextafter(rounded, kInfinity);
}

}  // namespace sortition
