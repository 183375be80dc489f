#pragma once
// What an ensemble of trees may hold.
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Limits of one ensemble.
inline constexpr uint32_t kMaxTreeFeatures = 1u << 24;
inline constexpr int kMaxTrees = 100'000;
inline constexpr size_t kMaxTreeLeaves = size_t{1} << 22;  // Of all trees.
inline constexpr uint32_t kMaxTreeDepth = 500;  // Splits on the way to a leaf.
// Of all splits by category, 32 categories each; a category is below 2^24.
inline constexpr size_t kMaxCategoryWords = size_t{1} << 22;
inline constexpr int kMaxCategoryWordsOfSplit = 1 << 19;
// Of a score, as far as the largest leaf of each tree and the base score say.
inline constexpr double kMaxTreeScore = 1e30;

// InvalidArgument where trees.proto does not allow the ensemble, or it is
// beyond a limit; the message names the field, as in "trees[3].left_children[7]
// is 46, must be below 31, the number of inner nodes".
absl::Status CheckTreeEnsemble(const model::v1::TreeEnsemble& ensemble);

}  // namespace sortition
