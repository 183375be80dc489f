#pragma once
// A game of sets over a few scores and the policy that plays it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

struct GameSubsetCase {
  std::string name;
  std::vector<double> scores;
  model::v1::GameSubset game;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  uint32_t asked = 0;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.threshold = game.threshold();
    candidates.top_k = asked;
    return candidates;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    *policy.mutable_game_subset() = game;
    auto distribution = MakeActionDistribution(policy);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }

  // Returns the size of the subsets; 0: any size.
  int Size() const {
    if (game.measure() == model::v1::GameSubset::F_BETA) return 0;
    return static_cast<int>(
        std::min<size_t>(asked > 0 ? asked : game.k(), scores.size()));
  }
};

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

}  // namespace sortition
