#pragma once
// Rankings drawn as the predictor of a prediction game draws them
// [WangXingAsifZiebart15], mixed with uniform.
//
// The game has the potentials ψ = α s, the score Σ_r D_r y(σ_r) and, on the
// predictor's side, the policies (1-ε) p + ε uniform. Their expected discounts
// are Perm(D') with D' = (1-ε) D + ε mean(D), and the optimal ones of the
// mixture are the projection of ψ on it (core/games/ranking/ranking_game.h).
// Take out the uniform part and what is left is the projection of ψ / (1-ε) on
// Perm(D): adding a constant to ψ does not move a projection on Perm(D). So p
// is the game of ψ / (1-ε), and core/games/sampling/slot_sampler.h draws an
// order with its expected discounts.
//
// Where asked for, p is further mixed with Plackett-Luce: p = (1-η) game + η
// PL.
//
// Costs O(m log m) for a draw, as for a probability. Between blocks of
// candidates an order is certain: without ε most orders are impossible, log h =
// -infinity. Potentials beyond ±1e300 make every order impossible.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/games/ranking/discounts.h"
#include "core/policies/action_distribution.h"
#include "core/policies/ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class GameRankingDistribution : public ActionDistribution {
 public:
  // InvalidArgument where the discount is unset, cutoff is above 1e6, or 0 with
  // PRECISION, or the other fields are not in their ranges. Requires
  // inverse_temperature and uniform_mixture in their ranges.
  static absl::StatusOr<std::unique_ptr<const ActionDistribution>> Create(
      double inverse_temperature, double uniform_mixture,
      const model::v1::GameRanking& game);

  ActionKind action_kind() const override { return ActionKind::kRank; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  // The expected discounts are piecewise linear in the scores, and games are
  // learned as such: the gradient of the value is known in closed form.
  bool has_gradient() const override { return false; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  // The order of the scores. Of whole orders it is the most probable, as no
  // coin of the draw is likelier to swap than not, and so it is for
  // Plackett-Luce; of prefixes the tests find it so.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  GameRankingDistribution(double inverse_temperature, double uniform_mixture,
                          const model::v1::GameRanking& game,
                          Discounts discounts);

  // Solves the game and builds scratch->slots; false where that is impossible.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // Where blocks begin in the order of the equilibrium, which is completed.
  void FindBlocks(const ScoredCandidates& candidates,
                  DistributionScratch* scratch) const;

  // What the policy guarantees, after Prepare().
  GameBounds DescribeGame(const ScoredCandidates& candidates,
                          const DistributionScratch& scratch) const;

  // log h of a well-formed action and of each rank given those above. Requires
  // what Prepare() returned.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals) const;

  double alpha_;
  LogMixture mixture_;
  double block_mixing_;
  LogMixture plackett_luce_mixture_;  // "Uniform" stands for Plackett-Luce.
  double plackett_luce_alpha_;
  RankingDistribution plackett_luce_;
  bool all_ranks_;  // However many there are; `discounts_` has some of them.
  Discounts discounts_;
  RankingDistribution uniform_;
};

}  // namespace sortition
