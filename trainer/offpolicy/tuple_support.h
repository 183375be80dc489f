#pragma once
// Missing mass of a policy in logged tuples.
#include <span>
#include <vector>

#include "core/counterfactual/evaluation/missing_mass.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/linear_policy.h"

namespace sortition {

// A policy, and tuples with its features.
struct PolicyOfTuples {
  const LinearPolicy& policy;
  std::span<const BanditTuple> tuples;
};

// Returns the missing mass of the target policy in each tuple: exact for
// selections, estimated from one order that the target draws for rankings.
// `logging` has the assumed logging policy and the same tuples. Returns an
// empty vector if the missing mass is not known:
//  - for subsets,
//  - if both do not have the same tuples,
//  - if `logging` contradicts the logged propensity of any tuple with more than
//    two actions, so that it did not log them,
//  - if something other than the action was shown in any tuple, because such
//    tuples have weight 0 whatever the policy does.
std::vector<MissingMass> MissingMassOfTuples(const PolicyOfTuples& target,
                                             const PolicyOfTuples& logging);

}  // namespace sortition
