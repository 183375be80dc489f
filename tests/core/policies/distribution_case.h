#pragma once
// A small distribution over actions, and all of its actions.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"
#include "gtest/gtest.h"

namespace sortition {

// A distribution and the candidates it ranks or selects.
struct DistributionCase {
  std::string name;
  ActionKind kind = ActionKind::kSelect;
  std::vector<double> scores;
  std::optional<double> abstain_score;
  uint32_t top_k = 1;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  // kRank: Boltzmann instead of Plackett-Luce.
  std::optional<model::v1::BoltzmannRanking> boltzmann;
  // kRank: the factors of Plackett-Luce.
  std::vector<double> rank_factors;
  // kRank: the order by score, explored, instead.
  std::optional<model::v1::SortedRanking> sorted;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.abstain_score = abstain_score;
    candidates.top_k = top_k;
    return candidates;
  }

  model::v1::Policy Policy() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    if (boltzmann) {
      *policy.mutable_boltzmann_ranking() = *boltzmann;
    } else if (sorted) {
      *policy.mutable_sorted_ranking() = *sorted;
    } else if (kind == ActionKind::kRank) {
      policy.mutable_plackett_luce()->mutable_rank_factors()->Assign(
          rank_factors.begin(), rank_factors.end());
    } else if (abstain_score) {
      policy.mutable_softmax_selection()->set_abstain_score(*abstain_score);
    } else {
      policy.mutable_softmax_selection();
    }
    return policy;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    auto distribution = MakeActionDistribution(Policy());
    CHECK(distribution.ok());
    return *std::move(distribution);
  }
};

inline double LogPropensity(const DistributionCase& c, const Action& action) {
  return c.Distribution()->LogPropensity(c.Candidates(), action);
}

// Names the instances of a parameterised test.
inline std::string CaseName(
    const testing::TestParamInfo<DistributionCase>& test) {
  return test.param.name;
}

inline void AppendOrders(int32_t m, uint32_t top_k, Action* prefix,
                         std::vector<Action>* orders) {
  if (prefix->size() == top_k) {
    orders->push_back(*prefix);
    return;
  }
  for (int32_t i = 0; i < m; ++i) {
    if (std::find(prefix->begin(), prefix->end(), i) != prefix->end()) continue;
    prefix->push_back(i);
    AppendOrders(m, top_k, prefix, orders);
    prefix->pop_back();
  }
}

// Every action of the case.
inline std::vector<Action> AllActions(const DistributionCase& c) {
  std::vector<Action> actions;
  const auto m = static_cast<int32_t>(c.scores.size());
  if (c.kind == ActionKind::kRank) {
    Action prefix;
    AppendOrders(m, c.top_k, &prefix, &actions);
    return actions;
  }
  for (int32_t i = 0; i < m; ++i) actions.push_back({i});
  if (c.abstain_score) actions.push_back({kAbstain});
  return actions;
}

}  // namespace sortition
