#pragma once
// Intervals of the mean of anything over decisions, by groups of units, and
// what they share with those of policies (intervals.h).
#include <cstddef>
#include <optional>
#include <span>

#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/evaluation/intervals.h"

namespace sortition {

// Sums of more blocks would take longer and say little more.
inline constexpr size_t kMostBlocks = 1024;

// Returns the sums of the ratios over at most so many blocks of groups, those
// with anything in them.
RatioBlocks MakeBlocks(const GroupSums& sums, std::span<const Ratio> ratios,
                       size_t most_blocks);

// Whether an interval of the sum of the ratios may go by their likelihood: as
// IsNearlyNormal() in intervals.h says of groups and skewness.
bool IsNearlyNormal(const GroupSums& sums, std::span<const Ratio> ratios);

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
