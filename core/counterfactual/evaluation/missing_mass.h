#pragma once
// The share of a policy's probability for which a log has too little support,
// or none.
//
// If the probabilities of all actions under the logging policy μ are known,
// support can be computed. For a limit M of the importance weights ρ = π / μ,
// the missing mass of a decision is
//   c_M(x) = Σ_a max(0, π(a|x) - M μ(a|x)) = E_π[max(0, 1 - M / ρ)],
// the part of the policy's probability that min(ρ, M) leaves out. It includes
// actions that the log cannot choose, for every M. Since
//   E[min(ρ, M) | x] = Σ_a min(π, M μ) = 1 - c_M(x),
// the value of the policy is at least E[min(ρ, M) r] and at most that plus
// E[c_M], for rewards r in [0, 1].
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/counterfactual/evaluation/estimator.h"

namespace sortition {

struct MissingMass {
  // c_M for each M of kClips, in [0, 1]: exact, or an unbiased estimate that
  // does not depend on the logged action and its reward.
  std::array<double, kNumParameters> beyond = {};
  // The largest π / μ of any action that the policy can choose; infinity if the
  // log cannot choose such an action, or if not all actions were considered.
  double largest_weight = std::numeric_limits<double>::infinity();
};

// Returns the exact missing mass from the probabilities of all actions, in the
// same order. Requires equal sizes.
MissingMass MissingMassOf(std::span<const double> target,
                          std::span<const double> logging);

// A logged selection. Abstaining counts as an action if `can_abstain`.
struct LoggedSelection {
  size_t num_candidates = 0;
  std::span<const bool> eligible = {};  // By document; empty: all are.
  bool can_abstain = false;
  int32_t action = 0;  // Document index; negative: abstained.
  double log_propensity = 0;
};

// Returns the probabilities of all actions under the logging policy, by
// document and then of abstaining, where the logged one determines them: if
// there are two actions, the other one has the rest. Returns an empty vector if
// there are more.
std::vector<double> ProbabilitiesOfTwo(const LoggedSelection& selection);

// Returns an unbiased estimate from one action that was drawn from the policy
// itself, independently of the log. Use it where there are too many actions to
// list, such as orders. `log_weight` is log π - log μ of the drawn action;
// infinity if the log cannot choose it.
MissingMass MissingMassOfDraw(double log_weight);

}  // namespace sortition
