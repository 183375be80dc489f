#pragma once
// A ranking game over a few scores and the policy that plays it.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/game_ranking_distribution.h"

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
    auto distribution = GameRankingDistribution::Create(inverse_temperature,
                                                        uniform_mixture, game);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }

  // The discounts of the game.
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
