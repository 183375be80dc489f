#pragma once
// Rankings with p(σ) ∝ exp(Σ_r a_r ψ(σ_r)), ψ = α s (seed 003, eq. 13). Where
// there are more than `head` candidates, the best `head` are ranked by this law
// and the others follow by Plackett-Luce
// (core/policies/distributions/head_tail_orders.h). The probability of the
// first ranks is that of all orders that begin with them.
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

#include "core/policies/distributions/mixed_ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns the size of the head, defaults filled in.
uint32_t HeadOf(const model::v1::BoltzmannRanking& boltzmann);

// Returns a_0 .. a_{head-1}. Requires fields in their ranges.
std::vector<double> RankWeightsOf(const model::v1::BoltzmannRanking& boltzmann);

// Mode() is proved: in every part of the mixture, swapping two candidates that
// are not in the order of the scores makes a ranking, or its first ranks, no
// less probable. Other orders tie with it where rank weights are equal.
class BoltzmannRankingDistribution : public MixedRankingDistribution {
 public:
  // Requires what ValidatePolicy() does.
  BoltzmannRankingDistribution(double inverse_temperature,
                               double uniform_mixture,
                               const model::v1::BoltzmannRanking& boltzmann);

  bool has_gradient() const override { return true; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;

 private:
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

  double tail_alpha_;                 // α τ
  std::vector<double> rank_weights_;  // One for each rank of the head.
};

}  // namespace sortition
