#pragma once
// Two policies that say how closely a ranking follows the scores, each mixed
// with uniform: h(σ) = (1-ε) p(σ) + ε (m-k)! / m!.
//  - Plackett-Luce with rank factors
//    (core/policies/distributions/factored_orders.h):
//      p(σ) = Π_r exp(α f_r s(σ_r)) / Σ_{j not in σ_0..σ_{r-1}} exp(α f_r
//      s(j)).
//    Logits α f_r s beyond ±1e9 (kMaxRankingLogit), for any factor, make every
//    order impossible.
//  - The order by score, explored by swaps of neighbours and by a shuffle of
//  the
//    first ranks (core/policies/distributions/sorted_orders.h). It is drawn
//    with exactly the probabilities that are logged. So that all rankings have
//    one rule, α s must be within ±1e9, too.
#include <vector>

#include "core/policies/distributions/mixed_ranking_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Mode() is the order by score. Where the factors do not rise from rank to
// rank, it is the most probable one. Proof: let a rank r have b with a below it
// or not shown, s_a > s_b, and exchange a and b. The numerators gain the factor
// exp(α (f_r - f_q) (s_a - s_b)) >= 1, where q is the rank of a, f_q = 0 if it
// has none; and the sums at the ranks after r up to q, which had a, now have b
// and are smaller.
//
// Where a factor is larger than the one before it, another order can be more
// probable: with f = (0.01, 1) the first rank is nearly uniform, and the second
// follows the scores all the more if the best candidate is still there. Mode()
// is the order by score all the same, the limit for large α, because the most
// probable order can only be found among all of them.
class FactoredRankingDistribution : public MixedRankingDistribution {
 public:
  // Requires what ValidatePolicy() does, and at least one factor.
  FactoredRankingDistribution(double inverse_temperature,
                              double uniform_mixture,
                              const model::v1::PlackettLuce& plackett_luce);

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

  std::vector<double> factors_;
  double largest_alpha_;  // α times the largest factor.
};

// Without the uniform part, log h = -infinity for most orders. A draw and a
// probability cost O(m + k log k).
//
// Has no gradient: which neighbours can swap is a step function of the scores,
// and most orders are impossible. It explores around scores that were learned
// otherwise.
//
// Mode() is proved. Given where pairs begin, the first ranks as sorted are most
// probable, since no pair swaps with a probability above 1/2; the shuffle makes
// no first ranks more probable than these. Others tie with them only where the
// shuffle is certain.
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
