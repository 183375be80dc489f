#pragma once
// Rankings with p(σ) ∝ exp(Σ_r a_r ψ(σ_r)), ψ = α s (seed 003, eq. 13). Where
// there are more than `head` candidates, the best `head` are ranked by this law
// and the others follow by Plackett-Luce (core/policies/head_tail_orders.h).
// The probability of the first ranks is that of all orders that begin with
// them.
//
// The policy can be mixed with Plackett-Luce, (1-η) p + η PL, and then with
// uniform, h = (1-ε) p + ε (m-k)! / m!. Without either, log h = -infinity for
// orders of more than `head` candidates that do not begin with the head.
//
// Limits. The head is drawn from the same probabilities that are logged, as a
// selection is, whatever its logits are. Plackett-Luce is not (kMaxRankingLogit
// in ranking_distribution.h). So the logits τ ψ of a tail, the logits of PL
// where η > 0, and ψ itself, so that all rankings have one rule, must be within
// ±1e9. Beyond that every order is impossible.
//
// A draw, a probability and its gradient cost O(2^h h) for the h candidates of
// the head and O(m) for the others.
#include <cstdint>
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/action_distribution.h"
#include "core/policies/ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns the size of the head, defaults filled in.
uint32_t HeadOf(const model::v1::BoltzmannRanking& boltzmann);

// Returns a_0 .. a_{head-1}. Requires fields in their ranges.
std::vector<double> RankWeightsOf(const model::v1::BoltzmannRanking& boltzmann);

class BoltzmannRankingDistribution : public ActionDistribution {
 public:
  // Requires what ValidatePolicy() does.
  BoltzmannRankingDistribution(double inverse_temperature,
                               double uniform_mixture,
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
  // Returns the order of the scores. In every part of the mixture, swapping two
  // candidates that are not in this order makes a ranking, or its first ranks,
  // no less probable. Other orders tie with it where rank weights are equal.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  // Posterior probabilities that an action was drawn by the two parts.
  struct Shares {
    double boltzmann = 1;
    double plackett_luce = 0;
  };

  bool CanDraw(const ScoredCandidates& candidates) const;
  // Builds scratch->head_tail where it is needed. Returns false where no order
  // is possible.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // Writes the log of (1-η) p + η PL of each rank given those above, and sets
  // `shares` unless η is 0.
  void MixWithPlackettLuce(const ScoredCandidates& candidates,
                           std::span<const int32_t> action,
                           DistributionScratch* scratch,
                           std::vector<double>* conditionals,
                           Shares* shares) const;
  // Returns log h of a well-formed action and writes that of each rank given
  // those above. `prepared` is what Prepare() returned.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals,
                    Shares* shares = nullptr) const;

  double alpha_;
  LogMixture mixture_;
  // Plackett-Luce takes the place of the uniform part.
  LogMixture plackett_luce_mixture_;
  double plackett_luce_alpha_;
  double tail_alpha_;                 // α τ
  std::vector<double> rank_weights_;  // One for each rank of the head.
  RankingDistribution plackett_luce_;
  RankingDistribution uniform_;
};

}  // namespace sortition
