#include "trainer/rollout/rollout_evidence.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sortition {

RolloutEvidence::RolloutEvidence(const config::v1::RolloutPlan& plan,
                                 std::vector<RolloutLimit> limits)
    : reward_min_(plan.reward_min()),
      reward_max_(plan.reward_max()),
      limits_(std::move(limits)) {
  std::vector<ArmHypothesis> reward = {{.against_better = true}};
  for (int stage = 0; stage < plan.shares_size(); ++stage) {
    reward.push_back(StageHypothesis(plan, stage));
  }
  outcomes_.emplace_back(reward);
  for (const RolloutLimit& limit : limits_) {
    const double allowed = limit.allowed / (limit.max - limit.min);
    outcomes_.emplace_back(std::vector<ArmHypothesis>{
        {.allowed = allowed, .against_better = true}, {.allowed = allowed}});
  }
  censoring_.resize(outcomes_.size());
}

double RolloutEvidence::LeastOf(size_t outcome) const {
  return outcome == 0 ? reward_min_ : limits_[outcome - 1].min;
}

double RolloutEvidence::RangeOf(size_t outcome) const {
  return (outcome == 0 ? reward_max_ : limits_[outcome - 1].max) -
         LeastOf(outcome);
}

double RolloutEvidence::Cut(size_t outcome, double value) const {
  const double least = LeastOf(outcome);
  if (std::isnan(value)) return least;
  return std::clamp(value, least, least + RangeOf(outcome));
}

void RolloutEvidence::Take(const UnitRound& round,
                           const RoundOutcome& outcome) {
  const size_t i = outcome.outcome;
  censoring_[i].Add(round, outcome.why_void);
  if (outcome.why_void != RoundVoid::kNotVoid) return;
  if (i == 0) {
    num_decisions_ += outcome.decisions;
    by_places_[PlacesOfShare(round.share)] += outcome.decisions;
  }
  const double scaled = (outcome.mean - LeastOf(i)) / RangeOf(i);
  outcomes_[i].Add({.is_canary = round.is_canary,
                    .canary_probability = round.canary_probability,
                    .reward = std::clamp(scaled, 0.0, 1.0)});
}

uint64_t RolloutEvidence::StageDecisions(double share) const {
  const auto found = by_places_.find(PlacesOfShare(share));
  return found == by_places_.end() ? 0 : found->second;
}

}  // namespace sortition
