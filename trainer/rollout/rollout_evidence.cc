#include "trainer/rollout/rollout_evidence.h"

#include <algorithm>
#include <utility>

namespace sortition {

RolloutEvidence::RolloutEvidence(const config::v1::RolloutPlan& plan,
                                 std::vector<RolloutLimit> limits)
    : reward_min_(plan.reward_min()),
      reward_max_(plan.reward_max()),
      limits_(std::move(limits)) {
  std::vector<ArmHypothesis> reward = {{.against_better = true}};
  for (const double margin : plan.margins()) {
    reward.push_back({.margin = margin});
  }
  outcomes_.emplace_back(reward);
  for (const RolloutLimit& limit : limits_) {
    const double allowed = limit.allowed / (limit.max - limit.min);
    outcomes_.emplace_back(std::vector<ArmHypothesis>{
        {.allowed = allowed, .against_better = true}, {.allowed = allowed}});
  }
}

double RolloutEvidence::LeastOf(size_t outcome) const {
  return outcome == 0 ? reward_min_ : limits_[outcome - 1].min;
}

double RolloutEvidence::RangeOf(size_t outcome) const {
  return (outcome == 0 ? reward_max_ : limits_[outcome - 1].max) -
         LeastOf(outcome);
}

double RolloutEvidence::Scale(size_t outcome, double value) const {
  return std::clamp((value - LeastOf(outcome)) / RangeOf(outcome), 0.0, 1.0);
}

void RolloutEvidence::Take(const UnitRound& round) {
  num_decisions_ += round.decisions;
  by_places_[PlacesOfShare(round.share)] += round.decisions;
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    outcomes_[i].Add({.is_canary = round.is_canary,
                      .canary_probability = round.canary_probability,
                      .reward = std::clamp(round.means[i], 0.0, 1.0)});
  }
}

uint64_t RolloutEvidence::StageDecisions(double share) const {
  const auto found = by_places_.find(PlacesOfShare(share));
  return found == by_places_.end() ? 0 : found->second;
}

}  // namespace sortition
