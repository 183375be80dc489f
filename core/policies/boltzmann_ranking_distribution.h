#pragma once
// Rankings with p(σ) ∝ exp(Σ_r a_r ψ(σ_r)), ψ = α s (seed 003, eq. 13); of more
// than `head` candidates the best of them so and the rest by Plackett-Luce
// (core/policies/head_tail_orders.h). First ranks have the probability of all
// orders that begin so.
//
// Where asked for, p is mixed with Plackett-Luce, (1-η) p + η PL, and then with
// uniform, h = (1-ε) p + ε (m-k)! / m!. Without either log h = -infinity for
// orders of more than `head` candidates that do not begin with the head.
//
// Limits. The head is drawn from the very probabilities that are logged, as a
// selection is, whatever its logits. Plackett-Luce is not (kMaxRankingLogit in
// ranking_distribution.h), so that τ ψ, where there are more candidates than
// the head, and the logits of PL, where η > 0, must be in ±1e9; ψ too, for one
// rule of all rankings. Beyond every order is impossible.
//
// Costs O(2^h h) for the h candidates of the head, O(m) for the others, for a
// draw, a probability and its gradient.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/policies/action_distribution.h"
#include "core/policies/ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Candidates that the law above orders, defaults filled in.
uint32_t HeadOf(const model::v1::BoltzmannRanking& boltzmann);

// a_0 .. a_{head-1}. Requires fields in their ranges.
std::vector<double> RankWeightsOf(const model::v1::BoltzmannRanking& boltzmann);

class BoltzmannRankingDistribution : public ActionDistribution {
 public:
  // InvalidArgument where the fields of `boltzmann` are not in their ranges.
  // Requires inverse_temperature and uniform_mixture in theirs.
  static absl::StatusOr<std::unique_ptr<const ActionDistribution>> Create(
      double inverse_temperature, double uniform_mixture,
      const model::v1::BoltzmannRanking& boltzmann);

  ActionKind action_kind() const override { return ActionKind::kRank; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  // The order of the scores. To swap two candidates that are not in it makes no
  // order and no beginning of one less probable, in no part of the mixture.
  // Where weights are equal others are as probable.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  // Posterior probabilities that an action was drawn by the two parts.
  struct Shares {
    double boltzmann = 1;
    double plackett_luce = 0;
  };

  BoltzmannRankingDistribution(double inverse_temperature,
                               double uniform_mixture,
                               const model::v1::BoltzmannRanking& boltzmann);

  bool CanDraw(const ScoredCandidates& candidates) const;
  // Builds scratch->head_tail where it counts; false where no order is
  // possible.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // (1-η) p + η PL of each rank given those above; 0 < η < 1 sets `shares`.
  void MixWithPlackettLuce(const ScoredCandidates& candidates,
                           std::span<const int32_t> action,
                           DistributionScratch* scratch,
                           std::vector<double>* conditionals,
                           Shares* shares) const;
  // log h of a well-formed action and of each rank given those above.
  // `prepared` is what Prepare() returned.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals,
                    Shares* shares = nullptr) const;

  double alpha_;
  LogMixture mixture_;
  LogMixture plackett_luce_mixture_;  // "Uniform" stands for Plackett-Luce.
  double plackett_luce_alpha_;
  double tail_alpha_;                 // α τ
  std::vector<double> rank_weights_;  // Of the head.
  RankingDistribution plackett_luce_;
  RankingDistribution uniform_;
};

}  // namespace sortition
