#pragma once
// What the ranks of a logged order earned.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sortition/log/v1/log.pb.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

struct RankFeedback {
  // By rank that was shown, at most RankingValue::kMaxCountedRanks: in units of
  // reward_max, and as clicks; both in [0, 1]. Ranks without feedback have 0.
  std::vector<double> rewards;
  std::vector<double> clicks;
  bool has_rank_rewards = false;
  // There is feedback, but none that names a rank, and its reward is not the 0
  // of orders of which nothing came.
  bool is_without_ranks = false;
  // Something else was shown, so that ranks of feedback are of that: all of the
  // order counts as shown, and as earning 0.
  bool shown_otherwise = false;
  size_t num_outside = 0;  // Rewards that were not in [0, reward_max].
};

// Whether the log says how probable each rank of an order was: a ranking with
// conditional propensities, in which the caller's baseline had no part.
bool HasRankPropensities(const LoggedDecision& decision);

// Requires a tuple and reward_max > 0.
RankFeedback ReadRankFeedback(const log::v1::BanditTuple& tuple,
                              double reward_max);

}  // namespace sortition
