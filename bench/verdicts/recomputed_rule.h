#pragma once
// Baseline: the rule of rollouts before the ledger.
#include <memory>

#include "bench/rollout/rollout_world.h"

namespace sortition {

// Returns a rule that recomputes the evidence from the remaining tuples at each
// look. Censored decisions are dropped before units register, each decision
// without unit is its own round, and margins are a share of reward -
// reward_min.
std::unique_ptr<RolloutRule> MakeRecomputedRule(
    const config::v1::RolloutPlan& plan);

}  // namespace sortition
