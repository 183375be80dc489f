#pragma once
// Table 1 and figure 2 of the paper on loss-sensitive random fields
// [VolkovsLarochelleZemel11, sec. 6.2]: test NDCG@1 .. 5, mean of five folds,
// of settings chosen on each fold's validation queries.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct LetorTableOptions {
  std::string name;        // The data set's name.
  std::string letor;       // Directory, see letor_folds.h.
  std::string figure;      // SVG file; empty: none.
  int threads = 2;         // Methods and folds run at once.
  bool published = false;  // Compare with the published figures of
                           // MQ2008.
};

// Trains, prints and draws. The targets: KL is at least as good as ML, and with
// `published` KL, RankSVM and regression have the published figures.
absl::StatusOr<std::vector<Target>> RunLetorTable(
    const LetorTableOptions& options);

}  // namespace sortition
