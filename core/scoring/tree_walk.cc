#include "core/scoring/tree_walk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/check.h"

namespace sortition {
namespace {

// A step waits for the one before it, so the rows of a group go down a tree
// together: more than one step is under way at any time.
constexpr size_t kGroup = 16;
// Most trees are no deeper; from here on it pays to ask whether every row of a
// group is at its leaf.
constexpr uint32_t kLevelsWithoutAsking = 8;

// One tree of a layout.
struct TreeView {
  const TreeNode* nodes;
  const uint8_t* rules;
  uint32_t depth;
};

// Takes each row of a group one node down. Returns 0 if all were at leaves.
template <size_t kRows, bool kHasMissing>
inline __attribute__((always_inline)) uint32_t StepDown(const TreeView& tree,
                                                        const float* rows,
                                                        size_t num_columns,
                                                        uint32_t* places) {
  uint32_t moved = 0;
  for (size_t i = 0; i < kRows; ++i) {
    const TreeNode node = tree.nodes[places[i]];
    const float x = rows[i * num_columns + node.column];
    uint32_t is_right = x >= node.threshold ? 1 : 0;
    if constexpr (kHasMissing) {
      is_right |= (x != x ? 1u : 0u) & tree.rules[places[i]];
    }
    const uint32_t next = node.left + is_right;
    moved |= next ^ places[i];
    places[i] = next;
  }
  return moved;
}

// Finds the leaves of a group of rows in a tree of plain splits.
template <size_t kRows, bool kHasMissing>
inline __attribute__((always_inline)) void FindLeaves(const TreeView& tree,
                                                      const float* rows,
                                                      size_t num_columns,
                                                      uint32_t* places) {
  std::fill_n(places, kRows, 0);
  const uint32_t first = std::min(tree.depth, kLevelsWithoutAsking);
  for (uint32_t level = 0; level < first; ++level) {
    StepDown<kRows, kHasMissing>(tree, rows, num_columns, places);
  }
  for (uint32_t level = first; level < tree.depth; ++level) {
    if (StepDown<kRows, kHasMissing>(tree, rows, num_columns, places) == 0) {
      return;
    }
  }
}

template <bool kHasMissing, typename Sum>
void AddPlainTree(const TreeView& tree, const Sum* values, const TreeRows& rows,
                  Sum* sums) {
  uint32_t places[kGroup];
  size_t row = 0;
  for (; row + kGroup <= rows.num_rows; row += kGroup) {
    FindLeaves<kGroup, kHasMissing>(tree, rows.values + row * rows.num_columns,
                                    rows.num_columns, places);
    for (size_t i = 0; i < kGroup; ++i) sums[row + i] += values[places[i]];
  }
  for (; row < rows.num_rows; ++row) {
    FindLeaves<1, kHasMissing>(tree, rows.values + row * rows.num_columns,
                               rows.num_columns, places);
    sums[row] += values[places[0]];
  }
}

bool IsInSet(const TreeLayout& layout, size_t node, float x) {
  // Without the comparison a conversion could overflow.
  if (!(x < 16777216.0f) || x <= -1 ||
      (x < 0 && layout.drops_negative_fractions)) {
    return false;
  }
  const auto category = static_cast<uint32_t>(static_cast<int32_t>(x));
  const CategorySet set = layout.sets[layout.set_indexes[node]];
  if (category / 32 >= set.num_words) return false;
  return (layout.category_words[set.begin + category / 32] >> category % 32 &
          1) != 0;
}

// Finds the leaf of a row in a tree with splits of any rule.
uint32_t FindLeafByRules(const TreeLayout& layout, const TreeRange& tree,
                         const float* row) {
  // That of LightGBM.
  constexpr float kLargestZero = 1e-35f;
  uint32_t place = 0;
  for (uint32_t level = 0; level < tree.depth; ++level) {
    const size_t index = size_t{tree.root} + place;
    const TreeNode& node = layout.nodes[index];
    const uint8_t rule = layout.rules[index];
    const float x = row[node.column];
    const bool is_missing = std::isnan(x) || ((rule & kZeroIsMissing) != 0 &&
                                              std::abs(x) <= kLargestZero);
    uint32_t is_right = 0;
    if (is_missing) {
      is_right = rule & kMissingRight;
    } else if ((rule & kByCategory) != 0) {
      is_right = IsInSet(layout, index, x) ? 0 : 1;
    } else {
      is_right = x >= node.threshold ? 1 : 0;
    }
    const uint32_t next = node.left + is_right;
    if (next == place) break;
    place = next;
  }
  return place;
}

template <typename Sum>
void AddTreesTo(const TreeLayout& layout, const Sum* values,
                const TreeRows& rows, Sum* sums) {
  for (const TreeRange& tree : layout.trees) {
    const Sum* const tree_values = values + tree.root;
    const TreeView view{layout.nodes.data() + tree.root,
                        layout.rules.data() + tree.root, tree.depth};
    if (!tree.is_plain) {
      for (size_t i = 0; i < rows.num_rows; ++i) {
        sums[i] += tree_values[FindLeafByRules(
            layout, tree, rows.values + i * rows.num_columns)];
      }
    } else if (rows.has_missing) {
      AddPlainTree<true>(view, tree_values, rows, sums);
    } else {
      AddPlainTree<false>(view, tree_values, rows, sums);
    }
  }
}

}  // namespace

void AddTrees(const TreeLayout& layout, const TreeRows& rows,
              std::span<float> sums) {
  DCHECK(sums.size() == rows.num_rows);
  AddTreesTo(layout, layout.float_values.data(), rows, sums.data());
}

void AddTrees(const TreeLayout& layout, const TreeRows& rows,
              std::span<double> sums) {
  DCHECK(sums.size() == rows.num_rows);
  AddTreesTo(layout, layout.double_values.data(), rows, sums.data());
}

}  // namespace sortition
