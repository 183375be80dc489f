#pragma once
// Ascent of F1 itself, smoothed: what linear scores can reach on the items that
// they are fitted to.
#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "bench/support/labelled_rows.h"

namespace sortition {

// Returns θ at a local maximum of 2 Σ p y / Σ (p + y), where p = 1 / (1 +
// exp(-θ·x)), from `start` by L-BFGS.
absl::StatusOr<Eigen::VectorXd> AscendSmoothF1(const LabelledRows& items,
                                               const Eigen::VectorXd& start);

}  // namespace sortition
