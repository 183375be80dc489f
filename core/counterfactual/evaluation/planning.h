#pragma once
// Number of decisions that a log needs for a given precision.
#include <cstdint>

#include "core/counterfactual/evaluation/intervals.h"

namespace sortition {

// Returns how many decisions like the `num_decisions` that gave a difference of
// values the `standard_error` it takes to see a difference Δ = `improvement` >
// 0: a one-sided lower bound that fails with `failure_probability` α is above 0
// with probability `power`, if the difference is Δ. Errors fall with the root
// of the number, so that it is
//   num_decisions · (SE (d + z_power) / Δ)²,
// where the bound is d standard errors below the estimate: d = z_{1-α} for
// bounds of the normal distribution. For kBoundedLikelihood it is z_{1-α/2}, as
// half of α is kept for skewness. For kBetting it is √(2 ln(1/α)), 1.39 times
// z_{1-α} for α = 0.025: with bets λ the wealth against m grows by
// λ (mean - m) - λ² σ² / 2 per decision, to second order, which reaches ln(1/α)
// after n decisions where m = mean - ln(1/α) / (n λ) - λ σ² / 2; best with
// λ = √(2 ln(1/α) / (n σ²)), the bet that BettingLowerBound makes.
//
// Returns the largest number if the standard error is not known.
uint64_t DecisionsToSee(double standard_error, uint64_t num_decisions,
                        double improvement, double failure_probability,
                        double power,
                        IntervalKind kind = IntervalKind::kStudent);

}  // namespace sortition
