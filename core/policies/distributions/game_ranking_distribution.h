#pragma once
// Rankings drawn by the equilibrium strategy of the predictor in a prediction
// game [WangXingAsifZiebart15], mixed with uniform.
//
// The game has the potentials ψ = α s and the score Σ_r D_r y(σ_r). The
// predictor's strategies are the policies (1-ε) p + ε uniform: their expected
// discounts are Perm(D') with D' = (1-ε) D + ε mean(D), and the optimal ones
// are the projection of ψ on it (core/games/ranking/ranking_game.h). Without
// the uniform part this is the projection of ψ / (1-ε) on Perm(D), because
// adding a constant to ψ does not move a projection on Perm(D). So p is the
// game of ψ / (1-ε), and core/games/sampling/slot_sampler.h draws an order with
// its expected discounts.
//
// The game can be mixed with Plackett-Luce: p = (1-η) game + η PL.
//
// A draw and a probability cost O(m log m). The order of two blocks of
// candidates is certain: without ε and η most orders are impossible, log h =
// -infinity. Potentials beyond ±1e300 make every order impossible.
#include <vector>

#include "core/games/ranking/discounts.h"
#include "core/policies/distributions/mixed_ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Has no gradient: the expected discounts are piecewise linear in the scores.
// Games are learned by the gradient of their value instead, which has a closed
// form.
//
// Mode() is the most probable whole order of the game, since no coin of the
// draw swaps with a probability above ½. For first ranks this is not proved;
// the tests confirm it.
class GameRankingDistribution : public MixedRankingDistribution {
 public:
  // Requires what ValidatePolicy() does.
  GameRankingDistribution(double inverse_temperature, double uniform_mixture,
                          const model::v1::GameRanking& game);

 private:
  // Solves the game and builds scratch->slots.
  bool PrepareLaw(const ScoredCandidates& candidates,
                  DistributionScratch* scratch) const override;
  void DrawFromLaw(const ScoredCandidates& candidates,
                   const CounterRandom& random, DistributionScratch* scratch,
                   Action* action) const override;
  void LawConditionals(std::span<const int32_t> action,
                       DistributionScratch* scratch,
                       std::vector<double>* conditionals) const override;
  void AddLawFirstProbabilities(double share, DistributionScratch* scratch,
                                std::span<double> probabilities) const override;
  void DescribeGame(const ScoredCandidates& candidates,
                    const DistributionScratch& scratch,
                    Draw* draw) const override;

  // Writes where blocks begin in the order of the equilibrium, and completes
  // that order as far as it is shown.
  void FindBlocks(const ScoredCandidates& candidates,
                  DistributionScratch* scratch) const;

  double block_mixing_;
  // Whether all ranks count; `discounts_` then has only the first of them.
  bool all_ranks_;
  Discounts discounts_;
};

}  // namespace sortition
