#pragma once
// Intervals of values of orders and of their differences, by groups of units.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/rankings/ranking_sums.h"

namespace sortition {

struct RankingIntervalTask {
  const RankingSums* sums = nullptr;
  size_t policy = 0;
  RankingEstimatorKind estimator = RankingEstimatorKind::kShownPrefix;
  IntervalTask::Of of = IntervalTask::Of::kValue;
  size_t other = 0;          // Of kGainOverPolicy.
  double confidence = 0.95;  // In (0, 1).
  uint64_t seed = 0;         // Of the bootstrap.
  // As in IntervalTask.
  std::optional<double> largest_group = std::nullopt;
};

// The task's estimate as ratios of sums; none if an estimator is not supported.
std::vector<Ratio> RatiosOf(const RankingIntervalTask& task);

// Returns the interval of that kind, cut to what is possible: values are in
// [0, RankingValue::Largest()]. It holds under the estimator's assumption about
// users; nullopt if it does not apply:
//  - kStudent and kBootstrap are of the estimate. They assume that the log
//    could show whatever the policy shows.
//  - kEmpiricalLikelihood, kBoundedLikelihood and kBetting are of the value,
//    also where the log could not show everything or never did; kBetting for
//    every number of units. They go by the plain terms of the estimator's
//    weights, whatever its form, and apply to kWholeOrder, kShownPrefix,
//    kPrefix and kMarginal, whose weights are at least 0. With X = Σ_k α_k ρ_k
//    r_k + β ρ w, X̄ the same of 1 - r, and A = Σ_k α_k + β:
//      E[X] <= v <= E[A - X̄],  E[X - R] <= v - v₀ <= E[A - X̄ - R],
//      E[X_A + X̄_B - A] <= v_A - v_B.
//    The ranks k are the logged ones up to the deepest rank that any decision
//    showed. What a decision did not show of them has r_k = 0 and the weight of
//    the shown ranks, so that the number of shown ranks may depend on those
//    above (ranked_decision.h). Weights of single ranks are then not right:
//    kMarginal has none of these intervals where ShownRanksVary().
//  - kClopperPearson and kBernstein never do.
// Those of kAdaptive take its choices for given.
std::optional<JudgedInterval> MakeRankingInterval(
    const RankingIntervalTask& task, IntervalKind kind);

// Returns an interval of the value, which does not assume that the log could
// show everything: kEmpiricalLikelihood if X and X̄ are nearly normal
// (side_bounds.h) with effective sample sizes of at least 50, otherwise
// kBoundedLikelihood, or kBetting for fewer than 50 groups of equal size.
// nullopt if the estimator is not supported, or has no such interval.
std::optional<JudgedInterval> BestRankingInterval(
    const RankingIntervalTask& task);

}  // namespace sortition
