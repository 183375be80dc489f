#pragma once
// A simulated log of rankings whose users reward single ranks.

#include "absl/strings/string_view.h"
#include "core/simulation/rank_reader.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

// Returns the relevance at each rank: 1 where the first three features of the
// candidate add up to more than 1, as they do for two in seven.
inline std::vector<uint32_t> RelevancesOf(const log::v1::Decision& decision,
                                          std::span<const int32_t> order) {
  std::vector<uint32_t> relevances;
  for (const int32_t document : order) {
    double score = 0;
    for (int j = 0; j < 3; ++j) {
      score += decision.dense_values(
          document * static_cast<int>(decision.num_features()) + j);
    }
    relevances.push_back(score > 1 ? 1 : 0);
  }
  return relevances;
}

// Users of the name `user` (RankReader).
inline RankReader ReaderOf(absl::string_view user) {
  return *RankReader::Create(user, {});
}

// Adds the reward of a rank to that of the tuple.
inline void Reward(uint32_t rank, double reward, log::v1::BanditTuple* tuple) {
  log::v1::RankReward* const of_rank = tuple->add_rank_rewards();
  of_rank->set_rank(rank);
  of_rank->set_reward(reward);
  tuple->set_reward(tuple->reward() + reward);
  tuple->set_has_feedback(true);
}

// Returns the tuple of a decision of `policy` with the reward that its ranks
// add up to. Nothing says how far the user looked.
inline log::v1::BanditTuple MakeRankTuple(log::v1::BanditTuple tuple,
                                          const LinearPolicy& policy,
                                          const RankReader& reader) {
  log::v1::Decision& decision = *tuple.mutable_decision();
  PolicyWorkspace workspace;
  std::vector<double> conditionals;
  const std::vector<int32_t> order(decision.action().begin(),
                                   decision.action().end());
  policy.LogPropensity(QueryOf(decision), order, &workspace, &conditionals);
  decision.mutable_conditional_log_propensities()->Assign(conditionals.begin(),
                                                          conditionals.end());
  const ReadRanking read =
      reader.Read(RelevancesOf(decision, order), decision.decision_id());
  tuple.set_has_feedback(!read.clicks.empty());
  tuple.set_reward(0);
  for (const auto& [rank, reward] : read.clicks) {
    log::v1::RankReward* const of_rank = tuple.add_rank_rewards();
    of_rank->set_rank(rank);
    of_rank->set_reward(reward);
    of_rank->set_count(1);
    tuple.set_reward(tuple.reward() + reward);
  }
  return tuple;
}

inline std::vector<log::v1::BanditTuple> MakeRankTuples(
    const SyntheticLog& log, const RankReader& reader, size_t n) {
  const LinearPolicy policy = *LinearPolicy::Create(LoggingModel(log));
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log, n);
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple = MakeRankTuple(std::move(tuple), policy, reader);
  }
  return tuples;
}

// Returns the mean reward of orders that the model draws for queries that are
// in no log, without the noise of the users.
inline double RankValue(const SyntheticLog& log, const RankReader& reader,
                        const model::v1::Model& model) {
  constexpr int kQueries = 2000;
  const LinearPolicy policy = *LinearPolicy::Create(model);
  PolicyWorkspace workspace;
  Draw draw;
  double sum = 0;
  for (const auto& tuple : MakeTuples(log, kQueries, "fresh")) {
    const log::v1::Decision& decision = tuple.decision();
    policy.Decide(QueryOf(decision),
                  DecisionKey("value", 1, decision.decision_id()), &workspace,
                  &draw);
    sum += reader.ExpectedReward(RelevancesOf(decision, draw.action));
  }
  return sum / kQueries;
}

}  // namespace sortition
