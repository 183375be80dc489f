#pragma once
// How much of a policy's probability tuples can hardly judge, or not at all.
#include <span>
#include <vector>

#include "core/counterfactual/evaluation/missing_mass.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/linear_policy.h"

namespace sortition {

// A policy, and the tuples with the features that it takes.
struct PolicyOfTuples {
  const LinearPolicy& policy;
  std::span<const BanditTuple> tuples;
};

// Returns the missing mass of the target in each tuple, exactly for selections,
// and by one order that it draws for rankings. `logging` has the policy that is
// said to have logged the same tuples. Returns nothing if the mass is not
// known: for subsets; if both do not have the same tuples; if `logging` gives
// an action another probability than the log, so that it is not the one that
// logged; or if something else than the action was shown, since such tuples
// have the weight 0 whatever the policy does.
std::vector<MissingMass> MissingMassOfTuples(const PolicyOfTuples& target,
                                             const PolicyOfTuples& logging);

}  // namespace sortition
