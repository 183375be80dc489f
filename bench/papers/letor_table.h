#pragma once
// Table 1 and figure 2 of the paper of loss-sensitive random fields
// [VolkovsLarochelleZemel11, sec. 6.2]: test NDCG@1 .. 5, mean of five folds,
// of settings chosen on each fold's validation queries.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct LetorTableOptions {
  std::string name;        // Of the data set.
  std::string letor;       // Directory: see letor_folds.h.
  std::string figure;      // SVG file; empty: none.
  int threads = 2;         // Methods and folds at once.
  bool published = false;  // Print published figures of MQ2008 and hold
                           // ours against them.
};

// Trains, prints and draws. Targets: of KL, RankSVM and regression where
// `published`; and KL at least ML.
absl::StatusOr<std::vector<Target>> RunLetorTable(
    const LetorTableOptions& options);

}  // namespace sortition
