#include "sidecar/join/rank_rewards.h"

#include <algorithm>
#include <map>

#include "sidecar/join/reward_aggregate.h"

namespace sortition {

std::optional<uint32_t> RankOfCandidate(uint32_t index,
                                        const log::v1::Decision& decision,
                                        const log::v1::Shown* shown) {
  const uint32_t first = shown == nullptr ? 0 : shown->first_rank();
  uint32_t end = first;
  if (shown != nullptr) {
    const auto& page = shown->shown();
    end += static_cast<uint32_t>(page.size());
    const auto found = std::find(page.begin(), page.end(), index);
    if (found != page.end()) {
      return first + static_cast<uint32_t>(found - page.begin());
    }
  }
  const auto& action = decision.action();
  const auto found = std::find_if(
      action.begin(), action.end(),
      [&](int32_t document) { return int64_t{document} == int64_t{index}; });
  if (found == action.end()) return std::nullopt;
  const auto rank = static_cast<uint32_t>(found - action.begin());
  if (rank >= first && rank < end) return std::nullopt;
  return rank;
}

std::vector<log::v1::RankReward> RankRewardsOf(
    const ClosedDecision& closed, absl::string_view decision,
    config::v1::JoinOptions::Aggregation aggregation) {
  std::optional<log::v1::Decision> parsed;
  std::map<uint32_t, RewardAggregate> by_rank;
  log::v1::Feedback feedback;
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown || !feedback.ParseFromString(record.bytes)) continue;
    std::optional<uint32_t> rank;
    if (feedback.has_rank()) {
      rank = feedback.rank();
    } else if (feedback.has_index()) {
      if (!parsed.has_value()) {
        parsed.emplace().ParseFromArray(decision.data(),
                                        static_cast<int>(decision.size()));
      }
      rank =
          RankOfCandidate(feedback.index(), *parsed,
                          closed.shown.has_value() ? &*closed.shown : nullptr);
    }
    if (rank.has_value()) by_rank[*rank].Add(record.time_us, record.reward);
  }
  std::vector<log::v1::RankReward> rewards;
  for (const auto& [rank, aggregate] : by_rank) {
    log::v1::RankReward& of_rank = rewards.emplace_back();
    of_rank.set_rank(rank);
    of_rank.set_reward(aggregate.Value(aggregation));
    of_rank.set_count(aggregate.count());
  }
  return rewards;
}

}  // namespace sortition
