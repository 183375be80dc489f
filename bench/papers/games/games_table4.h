#pragma once
// Table 4 and figure 1 of the paper on prediction games
// [WangXingAsifZiebart15, sec. 4]: rankings of LETOR queries by prediction
// games beside other learners, over five folds.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct Table4Options {
  std::string letor;   // Directory, see letor_folds.h.
  std::string figure;  // SVG file of figure 1; empty: none.
  int threads = 2;     // Methods and folds that run at once.
  // The labels: as they are (0), or 1 from this relevance on and 0 below. The
  // paper's games have two levels, the baselines beside them all levels.
  uint32_t relevance_cut = 0;
  // A second table, of settings that are chosen by four validation parts and of
  // weights averaged over four trainings. Takes four times as long.
  bool averaged = false;
};

// Trains, prints and draws. The targets: the games, with the measure and C
// chosen on validation queries, have a mean NDCG that is below that of every
// other learner by no more than one standard error of the paired difference
// over queries.
absl::StatusOr<std::vector<Target>> RunTable4(const Table4Options& options);

}  // namespace sortition
