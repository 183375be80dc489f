#pragma once
// What a new policy must not make worse.
#include <vector>

#include "core/counterfactual/evaluation/missing_mass.h"
#include "core/learners/counterfactual/weighted_tuples.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {

struct GuardrailTask {
  const WeightedTuples& test;
  // Missing mass of the policy, by tuple of the test part; empty: not known.
  const std::vector<MissingMass>& missing;
  // A unit counts as at most so many decisions (UnitSample).
  double largest_unit = 1;
  double confidence = 0.95;
};

// Judges each reward on the test part: how it changes with the new policy, by
// importance weights with a control variate, with the tightest interval by
// units that is valid for the case (BestInterval). Missing mass counts with the
// smallest reward. A guardrail holds if the lower end of the interval does not
// fall by more than is allowed. Each guardrail uses the full failure
// probability: a policy must pass all of them, so no correction for their
// number is needed (an intersection-union test). The range of a reward is taken
// from its file if it is not given; if all rewards of the file are 0, the
// guardrail does not hold.
//
// Decisions whose outcome is not known (GuardedReward::of_test) are left out,
// for the policy and for the log. If fewer than two decisions remain, the
// guardrail does not hold. If something other than the action was shown, the
// reward is 0 for both.
std::vector<model::v1::Guardrail> JudgeGuardrails(
    const std::vector<GuardedReward>& rewards, const GuardrailTask& task);

}  // namespace sortition
