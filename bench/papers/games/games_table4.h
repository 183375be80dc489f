#pragma once
// Table 4 and figure 1 of the paper on prediction games
// [WangXingAsifZiebart15, sec. 4]: rankings of LETOR queries by prediction
// games beside other learners, over five folds.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct Table4Options {
  std::string letor;   // Directory, see letor_folds.h.
  std::string figure;  // SVG file of figure 1; empty: none.
  int threads = 2;     // Methods and folds that run at once.
};

// Trains, prints and draws. The targets: the games, with the measure and C
// chosen on the validation queries of each fold, have a mean NDCG at least that
// of every other learner.
absl::StatusOr<std::vector<Target>> RunTable4(const Table4Options& options);

}  // namespace sortition
