#pragma once
// The rule by which rollouts were judged before they had a ledger: a baseline.
#include <memory>

#include "bench/rollout/rollout_world.h"

namespace sortition {

// Computes the evidence anew from the tuples that are there. Censored decisions
// are dropped before units register, each decision without unit is a round, and
// margins are a share of reward - reward_min.
std::unique_ptr<RolloutRule> MakeRecomputedRule(
    const config::v1::RolloutPlan& plan);

}  // namespace sortition
