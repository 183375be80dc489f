#pragma once
// A rollout among simulated units, by the rules of trainer/rollout, in process.
#include <cstdint>
#include <vector>

#include "sortition/config/v1/rollout.pb.h"
#include "trainer/rollout/rollout_rules.h"

namespace sortition {

struct RolloutWorld {
  double mean_reward = 0.3;  // Of the stable version; at most 0.6.
  double effect = 0;         // Of the canary, as a share of that.
  // A decision is that of a new unit with this probability, otherwise of the
  // unit of an earlier decision, each as likely: sizes have a heavy tail.
  double new_unit = 0.4;
  uint64_t look_every = 2000;         // Decisions.
  uint64_t most_decisions = 4000000;  // Then the simulation ends undecided.
};

struct SimulatedRollout {
  // Of its end; kWait: it was undecided.
  RolloutAction end = RolloutAction::kWait;
  uint32_t stages_passed = 0;  // Of the plan's shares.
  uint64_t decisions = 0;
  std::vector<uint64_t> stage_decisions;  // Of each stage that ended.
};

// A unit likes what it gets by a factor of its own, uniform in [0.5, 1.5]. A
// decision takes a second. `plan` is complete, without guardrails.
SimulatedRollout SimulateRollout(const RolloutWorld& world,
                                 const config::v1::RolloutPlan& plan,
                                 uint64_t seed);

// Returns the plan of the benchmark: that of the defaults, or with these shares
// and margins, with a window of 1000 decisions and without limits of time.
config::v1::RolloutPlan SimulationPlan(const std::vector<double>& shares = {},
                                       const std::vector<double>& margins = {});

}  // namespace sortition
