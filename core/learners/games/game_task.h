#pragma once
// What is played on labelled queries, one prediction game each
// [WangXingAsifZiebart15]: which measure, and what its labels are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/games/ranking/discounts.h"
#include "sortition/config/v1/games.pb.h"

namespace sortition {

// GameOptions as the games need them.
struct GameTask {
  config::v1::GameOptions options;
  // [relevance]: what a label counts: 0 or 1, or the gain within [0, 1].
  std::vector<double> gains;
  bool per_level = false;     // A graded game with a θ_l per level.
  uint32_t num_blocks = 1;    // Vectors θ_l, block by block in θ.
  uint32_t num_features = 0;  // d, length of each block.
  size_t max_items = 0;       // Of a query.
  // What ranks are worth: one for all queries, or NDCG and MEAN_NDCG, whose
  // normaliser is part of it, one for each of `played`.
  std::vector<Discounts> discounts;
  // Indexes of the queries that have a game, ascending: all, but for NDCG and
  // MEAN_NDCG those with something relevant.
  std::vector<size_t> played;
  // Returns the discounts of query played[p].
  const Discounts& DiscountsOf(size_t p) const {
    return discounts[discounts.size() == 1 ? 0 : p];
  }
};

// As CheckQueries(). InvalidArgument also where options contradict each other
// or have no meaning; for NDCG and MEAN_NDCG, where no query has anything
// relevant.
absl::StatusOr<GameTask> MakeGameTask(std::span<const LabelledItems> queries,
                                      const config::v1::GameOptions& options);

}  // namespace sortition
