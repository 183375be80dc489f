#pragma once
// Labelled queries as prediction games, one game each
// [WangXingAsifZiebart15]: which measure, and what its labels are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "sortition/config/v1/learner.pb.h"

namespace sortition {

using GameQuery = LabelledItems;

// GameOptions as the games need them.
struct GameTask {
  config::v1::GameOptions options;
  // [relevance]: what a label counts: 0 or 1, or the gain within [0, 1].
  std::vector<double> gains;
  bool per_level = false;     // A graded game with a θ_l per level.
  uint32_t num_blocks = 1;    // Vectors θ_l, block by block in θ.
  uint32_t num_features = 0;  // d, length of each block.
  size_t max_items = 0;       // Of a query.
};

// InvalidArgument where options contradict each other or have no meaning; where
// there are no queries, or one has no items, another number of features or
// labels than it should, a feature that is NaN or infinite, or a relevance
// above max_relevance.
absl::StatusOr<GameTask> MakeGameTask(std::span<const GameQuery> queries,
                                      const config::v1::GameOptions& options);

}  // namespace sortition
