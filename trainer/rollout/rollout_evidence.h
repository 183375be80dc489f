#pragma once
// Evidence about the rewards of a rollout, which is valid at every moment.
#include <cstdint>
#include <map>
#include <vector>

#include "core/counterfactual/sequential/arm_comparison.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/config/v1/rollout.pb.h"
#include "trainer/rollout/arm_censoring.h"
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

  // Returns the value clamped to the range of the outcome, in its units. NaN
  // counts as the smallest value.
  double Cut(size_t outcome, double value) const;
  double RangeOf(size_t outcome) const;
  double LeastOf(size_t outcome) const;

  // Adds an outcome of a round, in its units. A void outcome is no evidence.
  void Take(const UnitRound& round, const RoundOutcome& outcome);

  // Return the number of decisions in the outcomes of the reward: in all
  // rounds, and in those of one share.
  uint64_t num_decisions() const { return num_decisions_; }
  uint64_t StageDecisions(double share) const;

  const ArmComparison& Of(size_t outcome) const { return outcomes_[outcome]; }
  const ArmCensoring& Censoring(size_t outcome) const {
    return censoring_[outcome];
  }
  // Evidence that the outcome falls, or by more than a guardrail allows.
  const ArmEvidence& Worse(size_t outcome) const {
    return outcomes_[outcome].evidence(0);
  }
  // Evidence that the reward does not fall by more than the margin of `stage`.
  const ArmEvidence& Next(size_t stage) const {
    return outcomes_[0].evidence(NextIndex(stage));
  }
  static size_t NextIndex(size_t stage) { return 1 + stage; }
  // Evidence that a guardrail holds.
  const ArmEvidence& Holds(size_t outcome) const {
    return outcomes_[outcome].evidence(1);
  }

 private:
  const double reward_min_;
  const double reward_max_;
  const std::vector<RolloutLimit> limits_;
  std::vector<ArmComparison> outcomes_;
  std::vector<ArmCensoring> censoring_;  // By outcome.
  uint64_t num_decisions_ = 0;
  std::map<uint32_t, uint64_t> by_places_;  // Decisions.
};

}  // namespace sortition
