#pragma once
// An ensemble of trees as its evaluation reads it.
//
// The nodes of a tree lie breadth first, the children of a node side by side:
// without a branch, a feature x leads to node left + (x >= threshold). A leaf
// is its own left child and its threshold is NaN, so that what has come to a
// leaf stays there.
#include <cstdint>
#include <vector>

#include "sortition/model/v1/trees.pb.h"

namespace sortition {

struct TreeNode {
  float threshold;
  uint32_t column;  // Index in TreeLayout::features.
  uint32_t left;    // Counted from the root of the tree.
};

// Bits of TreeLayout::rules.
inline constexpr uint8_t kMissingRight = 1;
inline constexpr uint8_t kZeroIsMissing = 2;
inline constexpr uint8_t kByCategory = 4;

struct TreeRange {
  uint32_t root = 0;   // Index in TreeLayout::nodes.
  uint32_t depth = 0;  // Splits on the longest way to a leaf.
  // No split has a rule but kMissingRight.
  bool is_plain = true;
};

// Categories of a split, as in CategoricalSplit.
struct CategorySet {
  uint32_t begin = 0;  // Index in TreeLayout::category_words.
  uint32_t num_words = 0;
};

struct TreeLayout {
  std::vector<uint32_t> features;  // Those that splits use, ascending.
  std::vector<TreeRange> trees;
  std::vector<TreeNode> nodes;  // Of all trees.
  std::vector<uint8_t> rules;   // One per node; 0 for leaves.
  // One per node, 0 for inner nodes. One of them is empty.
  std::vector<float> float_values;    // FLOAT
  std::vector<double> double_values;  // DOUBLE
  // One per node, if any split is by category; else empty.
  std::vector<uint32_t> set_indexes;
  std::vector<CategorySet> sets;
  std::vector<uint32_t> category_words;
  bool drops_negative_fractions = false;  // See CategoricalSplit.
};

// Requires an ensemble that CheckTreeEnsemble() accepts.
TreeLayout MakeTreeLayout(const model::v1::TreeEnsemble& ensemble);

// Returns the smallest float above `threshold`: for every float x,
// x <= threshold exactly where x < LeastFloatAbove(threshold). May be infinite.
float LeastFloatAbove(double threshold);

}  // namespace sortition
