#pragma once
// Figures 1 to 3 of the POEM paper.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/poem_runs.h"
#include "bench/support/report.h"

namespace sortition {

// Prints POEM(S), POEM(S) near h0 and Norm-POEM beside h0 for more tuples, a
// better logging policy and a less stochastic one, and draws them as SVG in the
// directory `dir`. `all_replays`: figure 1 up to 256 passes, as in the paper,
// which takes hours for some data. Returns, for every method and point, that
// its loss is at most a standard error above h0's.
absl::StatusOr<std::vector<Target>> DrawFigures(const std::string& name,
                                                const LabelData& data,
                                                const Repetition& repetition,
                                                bool all_replays,
                                                const std::string& dir);

}  // namespace sortition
