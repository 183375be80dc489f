#pragma once
// Confidence intervals of what a click model learned.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/clicks/click_fitter.h"
#include "core/clicks/fitted_clicks.h"

namespace sortition {

struct ClickInterval {
  ClickParameter parameter;  // With the estimate.
  double lower = 0;
  double upper = 0;
};

struct ClickBootstrapOptions {
  uint32_t draws = 200;      // At least 20.
  double confidence = 0.95;  // In (0, 1).
  uint64_t seed = 1;
  bool with_items = false;  // Also attractions and satisfactions of items.
};

// Percentile intervals of the Poisson bootstrap [ChamandyEtAl12]: in each draw
// a session counts a Poisson(1) number of times, and EM goes on from `fitted`.
// Values that are fixed have an interval of width 0. Needs draws · (4 doubles
// per parameter). Draws depend on the seed alone, and not on `parallel_for`.
// InvalidArgument if an option is outside its range or a draw has no session.
absl::StatusOr<std::vector<ClickInterval>> BootstrapClickIntervals(
    const ClickFitter& fitter, const FittedClicks& fitted,
    const ClickBootstrapOptions& options,
    const ParallelFor& parallel_for = SerialFor);

// Intervals of the user's part of a position-based or trust-biased model from
// the observed information [Louis82], which is exact here: it is a matrix of
// the ranks' parameters once items, whose part is diagonal, are eliminated.
// Much faster than the bootstrap, and right if the model is; the bootstrap also
// allows for sessions whose clicks depend on each other. θ_r, α_r + β_r and β_r
// are normal on the scale of log-odds; the interval of α_r is that of α_r +
// β_r minus β_r on its own scale. Estimates at 0 or 1, those of items too,
// count as known, and so does what is fixed; priors do not count.
// InvalidArgument for other kinds, a model with features, or a confidence not
// in (0, 1).
absl::StatusOr<std::vector<ClickInterval>> InformationClickIntervals(
    const ClickFitter& fitter, const FittedClicks& fitted,
    double confidence = 0.95);

}  // namespace sortition
