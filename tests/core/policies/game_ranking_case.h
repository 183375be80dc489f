#pragma once
// A ranking game over a few scores and the policy that plays it.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

struct GameRankingCase {
  std::string name;
  std::vector<double> scores;
  model::v1::GameRanking game;
  uint32_t top_k = 1;
  double inverse_temperature = 1;
  double uniform_mixture = 0;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.top_k = top_k;
    return candidates;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    *policy.mutable_game_ranking() = game;
    auto distribution = MakeActionDistribution(policy);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }

  // Returns the discounts of the game for n ranks.
  std::vector<double> Discounts(size_t n) const {
    std::vector<double> discounts(n, 0);
    for (size_t r = 0; r < n; ++r) {
      if (game.cutoff() > 0 && r >= game.cutoff()) break;
      discounts[r] = game.discount() == model::v1::GameRanking::DCG
                         ? 1 / std::log2(static_cast<double>(r) + 2)
                         : 1. / game.cutoff();
    }
    return discounts;
  }
};

inline model::v1::GameRanking Game(model::v1::GameRanking::Discount discount,
                                   uint32_t cutoff) {
  model::v1::GameRanking game;
  game.set_discount(discount);
  game.set_cutoff(cutoff);
  return game;
}

}  // namespace sortition
