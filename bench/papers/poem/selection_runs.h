#pragma once
// Which point of its grid the trainer chooses, and what it is worth by all
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
  double best = 0;    // The lowest of the grid, h0 among it.
  double chosen = 0;
  // Result of the choice by gain minus c standard errors, for each c in
  // kCautions.
  std::vector<double> by_caution;
};

struct SelectionOfSet {
  std::string set;
  std::vector<SelectionRun> runs;
};

// Trains the default grid of sets of labels on the logs of `repetition`.
absl::StatusOr<SelectionOfSet> RunSelection(const std::string& name,
                                            const LabelData& data,
                                            const Repetition& repetition);

// The table by set, and how many standard errors the other sets choose.
std::string FormatSelections(const std::vector<SelectionOfSet>& sets);

// In 80 % of all runs the chosen point is within 5 % of the best; none is above
// the parent by more than 5 %.
std::vector<Target> SelectionTargets(const std::vector<SelectionOfSet>& sets);

}  // namespace sortition
