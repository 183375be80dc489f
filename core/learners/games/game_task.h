#pragma once
// The prediction games that are played on labelled queries, one for each query
// [WangXingAsifZiebart15]: their measure, and what its labels are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/games/ranking/discounts.h"
#include "sortition/config/v1/games.pb.h"

namespace sortition {

// GameOptions, in the form that the games need.
struct GameTask {
  config::v1::GameOptions options;
  // [relevance]: the gain of a label: 0 or 1, or graded within [0, 1].
  std::vector<double> gains;
  bool per_level = false;  // A graded game with its own θ_l for each level.
  // Number of vectors θ_l, stored in θ block by block.
  uint32_t num_blocks = 1;
  uint32_t num_features = 0;  // d, the length of each block.
  size_t max_items = 0;       // Most items in a query.
  // The worth of ranks. NDCG and MEAN_NDCG, whose discounts contain the
  // normaliser, have an entry for each of `played`; others have one entry for
  // all queries.
  std::vector<Discounts> discounts;
  // The ascending indexes of the queries that have a game: all, except that
  // NDCG and MEAN_NDCG need something relevant.
  std::vector<size_t> played;
  // Returns the discounts of query played[p].
  const Discounts& DiscountsOf(size_t p) const {
    return discounts[discounts.size() == 1 ? 0 : p];
  }
};

// Errors as CheckQueries(). InvalidArgument also if options contradict each
// other or have no meaning, and for NDCG and MEAN_NDCG if no query has anything
// relevant.
absl::StatusOr<GameTask> MakeGameTask(std::span<const LabelledItems> queries,
                                      const config::v1::GameOptions& options);

}  // namespace sortition
