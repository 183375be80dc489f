#pragma once
// What a new policy must not make worse.
#include <vector>

#include "core/learners/counterfactual/weighted_tuples.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {

// Judges each reward on the test part: how it changes with the new policy, by
// importance weights with a control variate, with the tightest interval by
// units that is valid for the case (BestInterval: bets, or empirical likelihood
// where there are many units). It holds if it surely does not fall by more than
// is allowed. Each may fail with the probability of its own interval: whoever
// passes must pass all, so that no more than one of them need be charged (an
// intersection-union test). The range of a reward is taken from its file if it
// is not given; if all of the file is 0, no guardrail holds. A unit counts as
// at most `largest_unit` decisions (UnitSample).
//
// Decisions whose outcome is not known (GuardedReward::of_test) are left out on
// both sides. With fewer than two others the guardrail does not hold. Where
// something else than the action was shown, the reward is 0 on both sides.
std::vector<model::v1::Guardrail> JudgeGuardrails(
    const std::vector<GuardedReward>& rewards, const WeightedTuples& test,
    double largest_unit, double confidence);

}  // namespace sortition
