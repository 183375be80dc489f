#include "trainer/ope/rankings/rank_feedback.h"

#include <algorithm>
#include <cmath>

#include "core/counterfactual/rankings/ranked_decision.h"
#include "io/segments/shown_action.h"
#include "trainer/tuples/rank_use.h"

namespace sortition {

bool HasRankPropensities(const LoggedDecision& decision) {
  return decision.tuple != nullptr &&
         HasRankPropensitiesOfVersion(*decision.decision) &&
         HasFiniteRankPropensities(*decision.decision);
}

RankFeedback ReadRankFeedback(const log::v1::BanditTuple& tuple,
                              double reward_max) {
  RankFeedback feedback;
  feedback.has_rank_rewards = !tuple.rank_rewards().empty();
  feedback.is_without_ranks =
      tuple.has_feedback() && tuple.reward() != 0 && !feedback.has_rank_rewards;
  feedback.shown_otherwise = ShownDiffers(tuple);
  const size_t shown =
      feedback.shown_otherwise ? NumRanks(tuple.decision()) : ShownRanks(tuple);
  const size_t counted = std::min(shown, RankingValue::kMaxCountedRanks);
  feedback.rewards.assign(counted, 0);
  feedback.clicks.assign(counted, 0);
  if (feedback.shown_otherwise) return feedback;
  for (const log::v1::RankReward& rank : tuple.rank_rewards()) {
    if (rank.rank() >= counted) continue;
    const double reward = std::isnan(rank.reward()) ? 0 : rank.reward();
    if (!(rank.reward() >= 0 && rank.reward() <= reward_max)) {
      ++feedback.num_outside;
    }
    feedback.rewards[rank.rank()] =
        std::clamp(reward, 0.0, reward_max) / reward_max;
    feedback.clicks[rank.rank()] = std::clamp(reward, 0.0, 1.0);
  }
  return feedback;
}

}  // namespace sortition
