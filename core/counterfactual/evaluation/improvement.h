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
// are. The upper bound takes E[ρ] = 1, that is full support: it is that of
// 1 - r from below. Requires confidence in (0, 1).
Interval EstimateImprovement(const UnitSample& sample, double confidence);

// Returns the number of different units.
uint64_t NumUnits(std::span<const uint64_t> units);

}  // namespace sortition
