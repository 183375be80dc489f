#pragma once
// Intervals of the mean of anything over decisions, by groups of units.
#include <optional>

#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/evaluation/intervals.h"

namespace sortition {

struct MeanTask {
  const GroupSums* sums = nullptr;
  // Its denominator counts decisions; each of them has a numerator in [-limit,
  // limit].
  Ratio mean;
  double limit = 1;  // Above 0, and known before the decisions are.
  double confidence = 0.95;
  // How much the largest group could count (IntervalTask.largest_group); unset:
  // no more than the largest that was seen.
  std::optional<double> largest_group = std::nullopt;
};

// Returns the interval of the mean: by empirical likelihood where the groups
// allow it (IsNearlyNormal()), otherwise by bets, which hold for any number of
// units. Its value is the ratio of the totals; 0 for no decisions.
JudgedInterval MeanInterval(const MeanTask& task);

}  // namespace sortition
