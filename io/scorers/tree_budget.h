#pragma once
// What a model file may make us allocate.
#include <cstddef>

#include "core/scoring/tree_check.h"

namespace sortition {

// What the trees that are still to be read may have together. A small file can
// ask for large sets of categories, and for one set at many splits.
struct TreeBudget {
  size_t leaves = kMaxTreeLeaves;
  size_t category_words = kMaxCategoryWords;
};

}  // namespace sortition
