#pragma once
// Computes the terms of likelihood intervals of a value: where the weights are
// cut, and how much of the policy is charged with the worst reward because the
// log lacks support for it.
//
// Weights are cut at an M of kClips. Let c be the missing mass of
// missing_mass.h, and d = min(ρ, M) - (1 - c). E[d | x] = 0 whatever support
// the log lacks, so that for any constant β and rewards r in [0, 1]
//   E[min(ρ, M) r - β d]  <=  v  <=  E[min(ρ, M) r + c - β d].
// On the left the missing mass earns 0, on the right it earns 1. A gain over
// the log subtracts r. A gain over another policy subtracts the other side of
// that policy, whose missing mass is then charged with the opposite reward. β
// is the regression coefficient of the first term on d, clamped to [0, 1].
//
// Where the probabilities of all actions are not known, c = 1 - min(ρ, M) has
// the right mean and takes its place. Then d = 0, and the right side is the
// mean of 1 - min(ρ, M) (1 - r): the missing mass is estimated by the weights
// alone, and the interval pays for their noise.
//
// M is the smallest of those with the least E[c_M], if both terms are then
// nearly normal, so that unseen weights cannot move them much. Otherwise M
// minimises
//   E[c_M] + 2.5 W_M / n
// for the largest remaining weight W_M and n decisions. The first summand is
// the charge; the second is what a likelihood bound of 95 % adds for possible
// weights that were not seen. This cost depends on π, μ and contexts, not on
// rewards.
#include <cstddef>

#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

class PolicySums;
struct IntervalTask;

// One side of an interval. Let v be the value or gain of the task. The mean is
// at most v for Sides::above, and at most -v for Sides::below.
struct Side {
  Ratio mean;
  // The smallest value that the term of one decision can have.
  double least_term = 0;
};

struct Sides {
  Side above;
  Side below;
  // Mean missing mass that is charged, summed over the policies of the task.
  double missing_mass = 0;
  // Whether the means of both sides are nearly normal. This requires
  //  - at least 50 groups, none with more than a tenth of the variance,
  //  - so little skewness that a Student interval of 95 % covers in 94.5 %
  //    (Deviations::SquaredSkewness()),
  //  - no possible term, seen or not, larger than half the standard error of
  //    the sum. Three such terms that are expected and absent, which happens in
  //    one of twenty logs, move the mean by 1.5 standard errors,
  //  - an effective sample size of at least 50 for each policy.
  bool is_nearly_normal = false;
};

// Returns both sides of the task, without its interval.
Sides SidesOf(const IntervalTask& task);

}  // namespace sortition
