#pragma once
// The point of its grid that the trainer chooses, and its true loss by all
// labels.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/label_experiment.h"
#include "bench/papers/poem/poem_runs.h"
#include "bench/support/report.h"

namespace sortition {

// Expected losses on the test set.
struct SelectionRun {
  double parent = 0;  // h0
  double best = 0;    // The lowest loss of the grid, including h0.
  double chosen = 0;
  // Losses of the points chosen by gain minus c standard errors, for each c in
  // kCautions.
  std::vector<double> by_caution;
};

struct SelectionOfSet {
  std::string set;
  std::vector<SelectionRun> runs;
};

// Trains the default grid for sets of labels on the logs of `repetition`.
absl::StatusOr<SelectionOfSet> RunSelection(const std::string& name,
                                            const LabelData& data,
                                            const Repetition& repetition);

// Formats the table by set, and for each set the c that the other sets choose.
std::string FormatSelections(const std::vector<SelectionOfSet>& sets);

// Targets: in 80 % of all runs the chosen point is within 5 % of the best, and
// in none is its loss more than 5 % above the parent's.
std::vector<Target> SelectionTargets(const std::vector<SelectionOfSet>& sets);

}  // namespace sortition
