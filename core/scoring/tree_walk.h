#pragma once
// The inner loop of the evaluation of trees.
#include <cstddef>
#include <span>

#include "core/scoring/tree_layout.h"

namespace sortition {

// Rows of features, num_rows × num_columns; column c is
// TreeLayout::features[c].
struct TreeRows {
  const float* values = nullptr;
  size_t num_rows = 0;
  size_t num_columns = 0;
  bool has_missing = false;  // A value is NaN.
};

// Adds the value of the leaf that row i comes to in each tree to sums[i], in
// the order of the trees: with float sums that of a FLOAT ensemble, with double
// sums that of a DOUBLE ensemble. Requires as many sums as rows.
void AddTrees(const TreeLayout& layout, const TreeRows& rows,
              std::span<float> sums);
void AddTrees(const TreeLayout& layout, const TreeRows& rows,
              std::span<double> sums);

}  // namespace sortition
