#pragma once
// Ratios of sums over a log as blocks of groups, for intervals.
#include <cstddef>
#include <span>

#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

// Sums of more blocks would take longer and say little more.
inline constexpr size_t kMostBlocks = 1024;

// Returns the sums of `ratios` by block: each block has every most_blocks-th
// group of those with anything in them, so that there are at most
// `most_blocks`. Requires most_blocks >= 1.
RatioBlocks MakeBlocks(const GroupSums& sums, std::span<const Ratio> ratios,
                       size_t most_blocks);

// Minimum number of groups from which their variance can be estimated.
inline constexpr double kFewestGroups = 50;

// Returns the effective number of groups, (Σ n)² / Σ n² for groups with counts
// n. For groups of equal size it is their number.
double EffectiveGroups(const GroupSums& sums, const SumFunction& count);

// Whether the sum of `ratios` is nearly normal: at least kFewestGroups, none
// with more than a tenth of the variance, and so little skewness that a Student
// interval of 95 % covers in 94.5 % (Deviations::SquaredSkewness()). False
// without ratios.
bool IsNearlyNormal(const GroupSums& sums, std::span<const Ratio> ratios);

}  // namespace sortition
