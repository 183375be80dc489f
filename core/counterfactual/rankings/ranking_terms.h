#pragma once
// What one decision contributes to the estimates of one policy.
#include <array>
#include <cstddef>
#include <vector>

#include "core/counterfactual/rankings/ranked_decision.h"
#include "core/counterfactual/rankings/ranking_estimator.h"

namespace sortition {

// Weights of one decision, none above e^300, so that sums of squares stay
// finite.
struct RankingWeights {
  double whole = 1;           // ρ_{1:N}
  double shown = 1;           // ρ_{1:L}
  double pseudo_inverse = 1;  // γ
  // ρ_{1:k} and m_k for each rank that counts, also for those that were not
  // shown: there nobody chose anything, so that ρ_{1:k} is ρ_{1:L} and m_k is
  // 1. Each has the mean 1 under the log, if the log could do what the policy
  // does.
  std::vector<double> prefix;
  std::vector<double> marginal;
};

// Writes the weights of `num_counted` ranks. Requires arguments that
// CheckRankedDecision() and CheckJudgedRanking() accept. What the policy does
// not bring along is 1.
void ComputeRankingWeights(const RankedDecision& decision,
                           const JudgedRanking& judged,
                           const RankingInputs& inputs, size_t num_counted,
                           RankingWeights* weights);

// By RankingWeightKind.
struct RankingTerms {
  // Of the plain estimators.
  std::array<double, kNumRankingWeights> plain = {};
  // Of the doubly robust ones: with the model by prefix for kPrefix, with that
  // by position otherwise. Without that model the same as `plain`.
  std::array<double, kNumRankingWeights> doubly_robust = {};
  // The weight times all that could have been earned: the plain term if all
  // rewards were 1. So `weight` - `plain` is the plain term of 1 - r.
  std::array<double, kNumRankingWeights> weight = {};
  double direct = 0;
  double reward = 0;   // R, what was earned.
  double largest = 0;  // The same if all rewards were 1.
};

// The same requirements.
RankingTerms RankingTermsOf(const RankingValue& value,
                            const RankedDecision& decision,
                            const JudgedRanking& judged,
                            const RankingInputs& inputs,
                            const RankingWeights& weights);

}  // namespace sortition
