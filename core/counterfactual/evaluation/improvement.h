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
};

// Returns the mean of ρ r - r, paired by decision, with bounds by betting over
// groups of units (BettingLowerBound), each of which fails with the probability
// (1 - confidence) / 2 however often units come back and however large weights
// are. Up to GroupSums::kDefaultGroups units are a round of bets each: the size
// of a round limits its bet. The upper bound is that of 1 - r from
// below, so that what the log could not choose counts as the best reward.
// Requires confidence in (0, 1).
//
// A unit counts as at most √n / 2 decisions, n units, and at least one: larger
// ones are weighed down. A single account that has most of the decisions would
// decide alone, and whether one like it is in the sample is chance: bounds
// cannot hold for such means, nor say anything if they try. Below that limit
// they hold for units like these: nothing is claimed about units larger than
// any of the sample (BettingLowerBound).
Interval EstimateImprovement(const UnitSample& sample, double confidence);

// Returns the number of different units.
uint64_t NumUnits(std::span<const uint64_t> units);

}  // namespace sortition
