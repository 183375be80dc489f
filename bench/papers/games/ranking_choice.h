#pragma once
// Rankings of the test queries of five folds by settings that validation
// chose.
#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"
#include "bench/support/ranking_methods.h"
#include "bench/support/statistics.h"

namespace sortition {

// The outcome of a method on one fold.
struct FoldChoice {
  std::string setting;
  double validation = 0;  // Mean NDCG.
  double seconds = 0;     // CPU time for the whole grid.
  double largest_gap = 0;
  bool at_end = false;             // The least or the largest C was chosen.
  std::vector<LetorFigures> test;  // One entry per query.
};

struct MethodChoice {
  std::string name;
  bool is_game = false;
  std::array<FoldChoice, kNumFolds> folds;
};

// Two ways to choose and train.
struct RankingChoices {
  // LETOR's: train on three parts, choose on the fourth.
  std::vector<MethodChoice> single;
  // Each of the four parts once for validation: the setting of the best mean,
  // and the sum of its four weight vectors, each of length 1. Empty unless
  // asked for.
  std::vector<MethodChoice> averaged;
};

// Runs every method on every fold, several at once. In both lists the first is
// "MPG, chosen": for each fold the game that is best on validation queries.
absl::StatusOr<RankingChoices> ChooseRankings(
    const LetorFolds& data, const std::vector<RankingMethod>& methods,
    bool averaged, int num_threads);

// Returns the mean of the folds' means, as LETOR computes it.
LetorFigures MeanOfFolds(const MethodChoice& method);
// Compares mean NDCG query by query.
PairedTest TestQueries(const MethodChoice& a, const MethodChoice& b);

}  // namespace sortition
