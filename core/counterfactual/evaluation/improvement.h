#pragma once
// What a policy earns more than the one that logged, judged by units.
#include <cstdint>
#include <span>

#include "core/counterfactual/estimators.h"

namespace sortition {

// The spans have equal sizes, with decision i at index i.
struct UnitSample {
  std::span<const double> rewards;      // In [0, 1].
  std::span<const double> log_weights;  // log ρ
  std::span<const uint64_t> units;      // Hash of the unit of each decision.
  // Larger units count as so many decisions; less than 1 is 1. Known before the
  // sample is looked at, such as the largest unit of another one.
  double largest_unit = 1;
  // log ρ of a policy to compare with; empty: the one that logged.
  std::span<const double> other_log_weights = {};
};

// Returns the mean of ρ r - r, paired by decision, with bounds by betting
// (BettingLowerBound), each of which fails with the probability
// (1 - confidence) / 2 however often units come back and however large weights
// are. Each unit is a round of bets. The upper bound is that of 1 - r from
// below, so that what the log could not choose counts as the best reward.
// Requires confidence in (0, 1).
//
// With another policy B it is the mean of (ρ_A - ρ_B) r, and the lower bound is
// that of ρ_A r + ρ_B (1 - r) - 1, at least -1 each. Its mean is at most the
// difference, also where the log could not choose everything.
//
// The mean is one in which a unit counts as at most N decisions, for
// N = max(1, min(largest_unit, √n / 2)) and n units: those of a larger one
// count N / size each. N is known beforehand, as what units do says nothing
// about how many there are, and a unit is weighed by itself alone. So the sums
// of units are independent, none counts more than N, and the bounds hold for
// this mean whichever large units the sample has or lacks. Leaving large units
// out would be valid, too, but would say nothing about them; for the mean in
// which they count in full, nothing can be claimed without a limit of their
// sizes: one account outside of the sample could decide it. Of N, √n / 2 is
// more than enough for bets to lose most of their power.
Interval EstimateImprovement(const UnitSample& sample, double confidence);

// Returns the standard error of that mean, by units: the square root of
// Σ (s - m c)² over (Σ c)², where a unit's decisions sum up to s and count c,
// and m is the mean. Ignores other_log_weights. Infinite with fewer than two
// units.
double ImprovementError(const UnitSample& sample);

// Returns the number of decisions of the largest unit; 0 if there is none.
uint64_t LargestUnit(std::span<const uint64_t> units);

// Returns the number of different units.
uint64_t NumUnits(std::span<const uint64_t> units);

}  // namespace sortition
