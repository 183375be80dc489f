#pragma once
// The order by score, explored by swaps of neighbours and by a shuffle of the
// first ranks (core/policies/distributions/sorted_orders.h), mixed with
// uniform: h = (1-ε) p + ε (m-k)! / m!. Without the uniform part, log h =
// -infinity for most orders.
//
// The order is drawn with exactly the probabilities that are logged. So that
// all rankings have one rule, ψ = α s must be within ±1e9 as for Plackett-Luce;
// beyond that every order is impossible. A draw and a probability cost O(m + k
// log k).
#include <vector>

#include "core/policies/distributions/mixed_ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Has no gradient: which neighbours can swap is a step function of the scores,
// and most orders are impossible. It explores around scores that were learned
// otherwise.
//
// Mode() is proved. Given where pairs begin, the first ranks as sorted are most
// probable, since no pair swaps with a probability above 1/2; the shuffle makes
// no first ranks more probable than these. Other orders tie with it only where
// all orders are shuffled.
class SortedRankingDistribution : public MixedRankingDistribution {
 public:
  // Requires what ValidatePolicy() does.
  SortedRankingDistribution(double inverse_temperature, double uniform_mixture,
                            const model::v1::SortedRanking& sorted);

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

  SortedLaw law_;
};

}  // namespace sortition
