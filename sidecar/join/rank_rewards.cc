#include "sidecar/join/rank_rewards.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

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

bool NamesCandidates(const ClosedDecision& closed) {
  return std::any_of(
      closed.records.begin(), closed.records.end(),
      [](const JoinedRecord& record) { return record.index.has_value(); });
}

void SetRewards(absl::string_view decision,
                const config::v1::JoinOptions& options,
                ClosedDecision* closed) {
  log::v1::Decision parsed;
  const bool has_action =
      NamesCandidates(*closed) &&
      parsed.ParseFromArray(decision.data(), static_cast<int>(decision.size()));
  const log::v1::Shown* const shown =
      closed->shown.has_value() ? &*closed->shown : nullptr;
  using Key = std::pair<std::optional<uint32_t>, std::optional<uint32_t>>;
  std::vector<std::pair<const JoinedRecord*, std::optional<uint32_t>>> counted;
  // Index in `counted` of the last feedback of a rank or, without a rank, of a
  // candidate or the whole.
  std::map<Key, size_t> last;
  for (const JoinedRecord& record : closed->records) {
    if (record.is_shown) continue;
    std::optional<uint32_t> rank = record.rank;
    if (record.index.has_value() && has_action) {
      rank = RankOfCandidate(*record.index, parsed, shown);
    }
    if (options.repeats() == config::v1::JoinOptions::ONCE_PER_RANK) {
      const Key key = {rank, rank.has_value() ? std::nullopt : record.index};
      const auto [it, is_first] = last.try_emplace(key, counted.size());
      if (!is_first) {
        const JoinedRecord*& earlier = counted[it->second].first;
        if (record.time_us >= earlier->time_us) earlier = &record;
        continue;
      }
    }
    counted.emplace_back(&record, rank);
  }
  RewardAggregate all;
  std::map<uint32_t, RewardAggregate> by_rank;
  for (const auto& [record, rank] : counted) {
    all.Add(record->time_us, record->reward);
    if (rank.has_value()) by_rank[*rank].Add(record->time_us, record->reward);
  }
  closed->has_feedback = all.count() > 0;
  closed->reward = closed->has_feedback ? all.Value(options.aggregation())
                                        : options.default_reward();
  closed->rank_rewards.clear();
  for (const auto& [rank, aggregate] : by_rank) {
    log::v1::RankReward& of_rank = closed->rank_rewards.emplace_back();
    of_rank.set_rank(rank);
    of_rank.set_reward(aggregate.Value(options.aggregation()));
    of_rank.set_count(aggregate.count());
  }
}

}  // namespace sortition
