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
  // What the test part can hardly judge of the policy, by tuple; empty: not
  // known.
  const std::vector<MissingMass>& missing;
  // A unit counts as at most so many decisions (UnitSample).
  double largest_unit = 1;
  double confidence = 0.95;
};

// Judges each reward on the test part: how it changes with the new policy, by
// importance weights with a control variate, with the tightest interval by
// units that is valid for the case (BestInterval). What the log can hardly
// judge of the policy counts with the smallest reward. A guardrail holds if the
// reward surely does not fall by more than is allowed. Each may fail with the
// probability of its own interval: whoever passes must pass all, so that no
// more than one of them need be charged (an intersection-union test). The range
// of a reward is taken from its file if it is not given; if all of the file is
// 0, no guardrail holds.
//
// Decisions whose outcome is not known (GuardedReward::of_test) are left out on
// both sides. With fewer than two others the guardrail does not hold. Where
// something else than the action was shown, the reward is 0 on both sides.
std::vector<model::v1::Guardrail> JudgeGuardrails(
    const std::vector<GuardedReward>& rewards, const GuardrailTask& task);

}  // namespace sortition
