#pragma once
// A small distribution over actions, and all of its actions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/random.h"
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
  // kRank: orders drawn by a game instead.
  std::optional<model::v1::GameRanking> game_ranking;
  // kSubset: independent candidates, or a game. Here top_k is the size that is
  // asked for; 0: the policy decides.
  std::optional<model::v1::IndependentSubset> subset;
  std::optional<model::v1::GameSubset> game_subset;

  double Threshold() const {
    return subset        ? subset->threshold()
           : game_subset ? game_subset->threshold()
                         : 0;
  }

  // Returns the size of the subsets; 0: any size.
  size_t SubsetSize() const {
    const bool any =
        game_subset && game_subset->measure() == model::v1::GameSubset::F_BETA;
    const uint32_t k = game_subset ? game_subset->k() : subset->k();
    return any ? 0 : std::min<size_t>(top_k > 0 ? top_k : k, scores.size());
  }

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.abstain_score = abstain_score;
    candidates.threshold = Threshold();
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
    } else if (game_ranking) {
      *policy.mutable_game_ranking() = *game_ranking;
    } else if (subset) {
      *policy.mutable_independent_subset() = *subset;
    } else if (game_subset) {
      *policy.mutable_game_subset() = *game_subset;
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

inline Draw SampleOf(const DistributionCase& c, const Hash128& seed) {
  Draw draw;
  c.Distribution()->Sample(c.Candidates(), CounterRandom(seed), &draw);
  return draw;
}

inline double Probability(const DistributionCase& c, const Action& action) {
  return std::exp(LogPropensity(c, action));
}

inline DistributionCase Selection(std::vector<double> scores,
                                  double epsilon = 0) {
  DistributionCase c;
  c.scores = std::move(scores);
  c.uniform_mixture = epsilon;
  return c;
}

inline DistributionCase Ranking(std::vector<double> scores, uint32_t top_k,
                                double epsilon = 0) {
  DistributionCase c = Selection(std::move(scores), epsilon);
  c.kind = ActionKind::kRank;
  c.top_k = top_k;
  return c;
}

inline DistributionCase Factored(std::vector<double> factors,
                                 std::vector<double> scores, uint32_t top_k) {
  DistributionCase c = Ranking(std::move(scores), top_k);
  c.rank_factors = std::move(factors);
  return c;
}

inline DistributionCase Sorted(double swap, std::vector<double> scores,
                               uint32_t top_k, double shuffle = 0,
                               uint32_t shuffle_ranks = 0) {
  DistributionCase c = Ranking(std::move(scores), top_k);
  c.sorted.emplace().set_swap_probability(swap);
  c.sorted->set_shuffle_probability(shuffle);
  c.sorted->set_shuffle_ranks(shuffle_ranks);
  return c;
}

// Sets of any size, or of the size k.
inline DistributionCase SubsetCase(std::vector<double> scores, uint32_t k = 0,
                                   double epsilon = 0) {
  DistributionCase c = Selection(std::move(scores), epsilon);
  c.kind = ActionKind::kSubset;
  c.top_k = 0;
  c.subset.emplace().set_k(k);
  return c;
}

inline DistributionCase GameSubsetCase(std::vector<double> scores,
                                       const model::v1::GameSubset& game,
                                       double epsilon = 0) {
  DistributionCase c = Selection(std::move(scores), epsilon);
  c.kind = ActionKind::kSubset;
  c.top_k = 0;
  c.game_subset = game;
  return c;
}

inline DistributionCase GameRankingCase(std::vector<double> scores,
                                        const model::v1::GameRanking& game,
                                        uint32_t top_k, double epsilon = 0) {
  DistributionCase c = Ranking(std::move(scores), top_k, epsilon);
  c.game_ranking = game;
  return c;
}

inline model::v1::GameRanking Game(model::v1::GameRanking::Discount discount,
                                   uint32_t cutoff) {
  model::v1::GameRanking game;
  game.set_discount(discount);
  game.set_cutoff(cutoff);
  return game;
}

inline model::v1::GameSubset Precision(uint32_t k, double threshold = 0) {
  model::v1::GameSubset game;
  game.set_measure(model::v1::GameSubset::PRECISION);
  game.set_k(k);
  game.set_threshold(threshold);
  return game;
}

inline model::v1::GameSubset FBeta(double beta, double threshold = 0) {
  model::v1::GameSubset game;
  game.set_measure(model::v1::GameSubset::F_BETA);
  game.set_beta(beta);
  game.set_threshold(threshold);
  game.set_tolerance(1e-9);
  return game;
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
  if (c.kind == ActionKind::kSubset) {
    for (uint32_t bits = 0; bits < 1u << m; ++bits) {
      Action subset;
      for (int32_t i = 0; i < m; ++i) {
        if ((bits >> i & 1) != 0) subset.push_back(i);
      }
      const bool fits = c.SubsetSize() == 0 || subset.size() == c.SubsetSize();
      if (fits) actions.push_back(subset);
    }
    return actions;
  }
  for (int32_t i = 0; i < m; ++i) actions.push_back({i});
  if (c.abstain_score) actions.push_back({kAbstain});
  return actions;
}

}  // namespace sortition
