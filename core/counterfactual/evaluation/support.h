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
// Of all M with the least E[c_M] it is the smallest, if both terms are then
// nearly normal: unseen weights cannot move them. Otherwise it is the M of
// least
//   E[c_M] + 3.7 W_M / n
// for the largest weight W_M that is left and n decisions: what is charged, and
// what a likelihood bound of 95 % adds for weights that are possible and were
// not seen. That depends on π, μ and contexts alone, never on rewards.
#include "core/counterfactual/evaluation/side_bounds.h"

namespace sortition {

class PolicySums;
struct IntervalTask;

struct Sides {
  Side above;  // Its mean is at most what the task is about,
  Side below;  // and this one at most the negative of that.
  // Mass that is charged, of all policies of the task together.
  double missing_mass = 0;
  // True if the means of both sides are nearly normal (side_bounds.h), and each
  // policy has an effective sample size of at least 50.
  bool is_nearly_normal = false;
};

// Returns both sides of the task, without its interval.
Sides SidesOf(const IntervalTask& task);

}  // namespace sortition
