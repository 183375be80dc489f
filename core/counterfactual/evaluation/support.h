#pragma once
// The one place that decides what a log can say of a policy: which weights
// count, and how much of the policy is charged with the worst reward because
// the log cannot judge it. Everything that is shown as an interval of a value
// goes by these terms.
//
// Weights are cut at an M of kClips. With d = min(ρ, M) - (1 - c) for the
// missing mass c of missing_mass.h, E[d | x] = 0 whatever the log lacks, so
// that for any constant β and rewards r in [0, 1]
//   E[min(ρ, M) r - β d]  <=  v  <=  E[min(ρ, M) r + c - β d].
// On the left the missing mass earns 0, on the right it earns 1. A gain
// subtracts r, or the other side of the other policy, whose missing mass is
// then charged with the opposite reward. β is the regression of the first term
// on d, in [0, 1].
//
// Where the probabilities of all actions are not known, c = 1 - min(ρ, M) has
// the right mean and takes its place. Then d = 0, and the right side is the
// mean of 1 - min(ρ, M) (1 - r): the missing mass is estimated by the weights
// alone, and the interval pays for their noise.
//
// Of all M with the least E[c_M] it is the smallest, if both terms are then
// nearly normal: unseen weights cannot move them. Otherwise it is the M of
// least
//   E[c_M] + 2.5 W_M / n
// for the largest weight W_M that is left and n decisions: what is charged, and
// what a likelihood bound of 95 % adds for weights that are possible and were
// not seen. That depends on π, μ and contexts alone, never on rewards.
#include <cstddef>

#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

class PolicySums;
struct IntervalTask;

// One side of an interval. The mean of the sum per decision is at most what the
// task is about (`above`), or at most its negative (`below`).
struct Side {
  Ratio mean;
  // The smallest value that the term of one decision can have.
  double least_term = 0;
};

struct Sides {
  Side above;
  Side below;
  // Mass that is charged, of all policies of the task together.
  double missing_mass = 0;
  // Whether the means of both sides are nearly normal: at least 50 groups, none
  // with more than a tenth of the variance; so little skewness that a Student
  // interval of 95 % covers in 94.5 % (Deviations::SquaredSkewness()); and no
  // term that is possible, seen or not, of more than half the standard error of
  // the sum. Three such terms that should have been seen and were not, which
  // happens once in twenty logs, move the mean by 1.5 standard errors. Also an
  // effective sample size of 50 of each policy.
  bool is_nearly_normal = false;
};
Sides SidesOf(const IntervalTask& task);

}  // namespace sortition
