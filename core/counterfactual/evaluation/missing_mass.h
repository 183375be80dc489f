#pragma once
// How much of a policy's probability a log can hardly judge, or not at all.
//
// With the logging policy μ known for all actions, support is computed and not
// guessed: for a limit M of the weights ρ = π / μ, the missing mass of a
// decision is
//   c_M(x) = Σ_a max(0, π(a|x) - M μ(a|x)) = E_π[max(0, 1 - M / ρ)],
// the part of the policy's probability that min(ρ, M) leaves out. Actions that
// the log cannot choose are part of it for every M. Since
//   E[min(ρ, M) | x] = Σ_a min(π, M μ) = 1 - c_M(x),
// the value of the policy is E[min(ρ, M) r] plus at most c_M, which is reached
// if whatever is left out earns 1.
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "core/counterfactual/evaluation/estimator.h"

namespace sortition {

struct MissingMass {
  // c_M for each M of kClips, in [0, 1]: exact, or an unbiased estimate that
  // does not depend on the logged action and its reward.
  std::array<double, kNumParameters> beyond = {};
  // The largest π / μ of any action; infinity if an action is impossible in
  // the log, or if only some actions were looked at.
  double largest_weight = std::numeric_limits<double>::infinity();
};

// Returns the exact mass from the probabilities of all actions, in the same
// order. Requires equal sizes.
MissingMass MissingMassOf(std::span<const double> target,
                          std::span<const double> logging);

// Returns the estimate from one action that was drawn from the policy itself,
// independently of the log, for actions that are too many to be listed.
// `log_weight` is log π - log μ of the drawn action; infinity if the log cannot
// choose it.
MissingMass MissingMassOfDraw(double log_weight);

}  // namespace sortition
