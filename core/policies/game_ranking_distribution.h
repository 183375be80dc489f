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

#include "core/base/log_mixture.h"
#include "core/games/ranking/discounts.h"
#include "core/policies/action_distribution.h"
#include "core/policies/ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class GameRankingDistribution : public ActionDistribution {
 public:
  // Requires what ValidatePolicy() does.
  GameRankingDistribution(double inverse_temperature, double uniform_mixture,
                          const model::v1::GameRanking& game);

  ActionKind action_kind() const override { return ActionKind::kRank; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  // The expected discounts are piecewise linear in the scores. Games are
  // learned by the gradient of their value instead, which has a closed form.
  bool has_gradient() const override { return false; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  // Returns the order of the scores. It is the most probable whole order of the
  // game, since no coin of the draw swaps with a probability above ½, and of
  // Plackett-Luce. For first ranks this is not proved; the tests confirm it.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  // Solves the game and builds scratch->slots. Returns false where that is
  // impossible.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // Writes where blocks begin in the order of the equilibrium, and completes
  // that order as far as it is shown.
  void FindBlocks(const ScoredCandidates& candidates,
                  DistributionScratch* scratch) const;

  // Returns what the policy guarantees. Requires Prepare().
  GameBounds DescribeGame(const ScoredCandidates& candidates,
                          const DistributionScratch& scratch) const;

  // Returns log h of a well-formed action and writes that of each rank given
  // those above. `prepared` is what Prepare() returned.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals) const;

  double alpha_;
  LogMixture mixture_;
  double block_mixing_;
  // Plackett-Luce takes the place of the uniform part.
  LogMixture plackett_luce_mixture_;
  double plackett_luce_alpha_;
  RankingDistribution plackett_luce_;
  // Whether all ranks count; `discounts_` then has only the first of them.
  bool all_ranks_;
  Discounts discounts_;
  RankingDistribution uniform_;
};

}  // namespace sortition
