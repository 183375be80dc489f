#pragma once
// What the rounds of a rollout say of its rewards, at every moment.
#include <cstdint>
#include <map>
#include <vector>

#include "core/counterfactual/sequential/arm_comparison.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/config/v1/rollout.pb.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {

// Outcome 0 is the reward, those after it are guardrails.
class RolloutEvidence {
 public:
  // `plan` is complete; `limits` are its guardrails.
  RolloutEvidence(const config::v1::RolloutPlan& plan,
                  std::vector<RolloutLimit> limits);

  size_t num_outcomes() const { return outcomes_.size(); }
  const std::vector<RolloutLimit>& limits() const { return limits_; }

  // Returns the value of an outcome in [0, 1]; one outside of its range counts
  // as the nearer end.
  double Scale(size_t outcome, double value) const;
  double RangeOf(size_t outcome) const;
  double LeastOf(size_t outcome) const;

  // Adds a round whose means are scaled.
  void Take(const UnitRound& round);

  uint64_t num_decisions() const { return num_decisions_; }
  // Of one share.
  uint64_t StageDecisions(double share) const;

  const ArmComparison& Of(size_t outcome) const { return outcomes_[outcome]; }
  // That it falls, or falls by more than a guardrail allows.
  const ArmEvidence& Worse(size_t outcome) const {
    return outcomes_[outcome].evidence(0);
  }
  // That the reward does not fall by more than the margin of `stage`.
  const ArmEvidence& Next(size_t stage) const {
    return outcomes_[0].evidence(NextIndex(stage));
  }
  static size_t NextIndex(size_t stage) { return 1 + stage; }
  // That a guardrail holds.
  const ArmEvidence& Holds(size_t outcome) const {
    return outcomes_[outcome].evidence(1);
  }

 private:
  const double reward_min_;
  const double reward_max_;
  const std::vector<RolloutLimit> limits_;
  std::vector<ArmComparison> outcomes_;
  uint64_t num_decisions_ = 0;
  std::map<uint32_t, uint64_t> by_places_;  // Decisions.
};

}  // namespace sortition
