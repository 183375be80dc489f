#pragma once
// A rollout among simulated units, by the rules of trainer/rollout, in process.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/config/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"
#include "trainer/rollout/rollout_rules.h"

namespace sortition {

// The arm whose units return more often the more they like what they get.
enum class LoyalArm { kNone, kStable, kCanary };

struct RolloutWorld {
  double mean_reward = 0.3;  // Of the stable version; at most 0.6.
  double effect = 0;  // Difference of the canary, as a share of mean_reward.
  // True: rewards are -1 instead of 1, and otherwise 0.
  bool complains = false;
  // A decision is that of a new unit with this probability, otherwise of the
  // unit of an earlier decision, each as likely: sizes have a heavy tail.
  double new_unit = 0.4;
  LoyalArm loyal_arm = LoyalArm::kNone;
  double unnamed = 0;   // Share of decisions without unit, each with a new id.
  double probe = 0;     // Share of decisions without unit that repeat one id.
  double censored = 0;  // Share of decisions with an unknown outcome.
  // Largest delay after which a tuple can be read, in decisions.
  uint64_t most_delay = 0;
  // Probabilities, at each look, that tuples are removed, that they are joined
  // again, and that the trainer restarts from its ledger.
  double remove = 0;
  double rejoin = 0;
  double restart = 0;
  bool removes_unread = true;         // Removes also tuples not yet read.
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

struct SimulatedTuple {
  ArmDecision decision;
  double reward = 0;  // kUnknownOutcome if it is censored.
  int64_t visible_us = 0;
  bool is_read = false;
};

// A rule that turns the available tuples into evidence.
class RolloutRule {
 public:
  virtual ~RolloutRule() = default;
  // Called after tuples were removed while the canary had this share.
  // `has_gap`: some of them were not read. `are_rejoined`: the outcomes of the
  // remaining tuples changed.
  virtual void TuplesChanged(double share, bool has_gap, bool are_rejoined) = 0;
  virtual void Restart() = 0;
  // Reads the tuples that are visible at `now_us`, in the order of their times.
  // Tuples with `is_read` were read before. Rounds whose window ended by
  // `newest_us` are closed.
  virtual void Read(const std::deque<SimulatedTuple>& tuples, int64_t now_us,
                    int64_t newest_us) = 0;
  virtual const RolloutEvidence& evidence() const = 0;
};

using MakeRolloutRule = std::function<std::unique_ptr<RolloutRule>(
    const config::v1::RolloutPlan& plan)>;

// Returns the rule of trainer/rollout, with a ledger in memory.
std::unique_ptr<RolloutRule> MakeLedgerRule(
    const config::v1::RolloutPlan& plan);

// A unit likes what it gets by a factor of its own, uniform in [0.5, 1.5]. A
// decision takes a second. `plan` is complete, without guardrails.
SimulatedRollout SimulateRollout(
    const RolloutWorld& world, const config::v1::RolloutPlan& plan,
    uint64_t seed, const MakeRolloutRule& make_rule = MakeLedgerRule);

// Returns the plan of the benchmark: that of the defaults, or with these shares
// and margins, with a window of 1000 decisions and without limits of time.
config::v1::RolloutPlan SimulationPlan(const std::vector<double>& shares = {},
                                       const std::vector<double>& margins = {},
                                       double reward_min = 0);

}  // namespace sortition
