#include "core/policies/distributions/selection_distribution.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"
#include "core/base/inverse_cdf.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// The random number that chooses the place in the part of the mixture.
constexpr uint32_t kPlace = 1;

size_t NumActions(const ScoredCandidates& candidates) {
  return candidates.scores.size() +
         (candidates.abstain_score.has_value() ? 1 : 0);
}

int32_t ActionAt(const ScoredCandidates& candidates, size_t place) {
  return place == candidates.scores.size() ? kAbstain
                                           : static_cast<int32_t>(place);
}

bool Possible(const ScoredCandidates& candidates,
              std::span<const int32_t> action) {
  if (action.size() != 1) return false;
  if (action[0] == kAbstain) return candidates.abstain_score.has_value();
  return action[0] >= 0 &&
         static_cast<size_t>(action[0]) < candidates.scores.size();
}

}  // namespace

SelectionDistribution::Weights SelectionDistribution::ComputeWeights(
    const ScoredCandidates& candidates, DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  std::vector<double>& values = scratch->values;
  values.resize(NumActions(candidates));
  for (size_t i = 0; i < m; ++i) values[i] = alpha_ * candidates.scores[i];
  if (candidates.abstain_score) values[m] = alpha_ * *candidates.abstain_score;
  const double max = stable::Max(values);
  for (double& value : values) value -= max;
  stable::ExpInPlace(values);
  // Leaves out the 1 of the largest, so that small terms beside it count.
  const auto largest = std::find(values.begin(), values.end(), 1.0);
  *largest = 0;
  const double log_total = stable::Log1p(stable::Sum(values));
  *largest = 1;
  return {values, max, log_total};
}

// log h of a possible action; where 0 < ε < 1 also the log-odds that the policy
// part drew it.
double SelectionDistribution::LogMixed(const ScoredCandidates& candidates,
                                       const Weights& weights, int32_t action,
                                       double* log_odds) const {
  const double score = action == kAbstain ? *candidates.abstain_score
                                          : candidates.scores[action];
  const double log_p = (alpha_ * score - weights.max) - weights.log_total;
  if (!mixture_.has_uniform()) return log_p;
  const double log_q =
      0 - stable::Log(static_cast<double>(NumActions(candidates)));
  if (mixture_.has_policy()) {
    *log_odds = mixture_.PriorLogOdds() + (log_p - log_q);
  }
  return mixture_(log_p, log_q);
}

void SelectionDistribution::Sample(const ScoredCandidates& candidates,
                                   const CounterRandom& random,
                                   Draw* draw) const {
  std::optional<DistributionScratch> local;
  const Weights weights =
      ComputeWeights(candidates, &ScratchOf(candidates, &local));
  // Numbers 0 and 1; both are above 0 and below 1.
  static_assert(kPart == 0 && kPlace == 1);
  const auto [part, place] = random.UniformPair(0);
  const size_t count = weights.values.size();
  size_t chosen = 0;
  if (part < mixture_.epsilon()) {
    chosen = std::min(count - 1,
                      static_cast<size_t>(place * static_cast<double>(count)));
  } else {
    chosen = InverseCdf(weights.values, place * stable::Exp(weights.log_total));
  }
  draw->action.assign(1, ActionAt(candidates, chosen));
  double log_odds = 0;
  draw->log_propensity =
      LogMixed(candidates, weights, draw->action[0], &log_odds);
  draw->conditional_log_propensities.clear();
}

double SelectionDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  if (!Possible(candidates, action)) return -HUGE_VAL;
  std::optional<DistributionScratch> local;
  const Weights weights =
      ComputeWeights(candidates, &ScratchOf(candidates, &local));
  double log_odds = 0;
  return LogMixed(candidates, weights, action[0], &log_odds);
}

// ∂ log h / ∂ s_j = α (1-ε) p / h · (1{j chosen} - p_j).
double SelectionDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  DCHECK(score_gradient.size() == candidates.scores.size());
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  *abstain_gradient = 0;
  if (!Possible(candidates, action)) return -HUGE_VAL;
  std::optional<DistributionScratch> local;
  const Weights weights =
      ComputeWeights(candidates, &ScratchOf(candidates, &local));
  double log_odds = 0;
  const double log_h = LogMixed(candidates, weights, action[0], &log_odds);
  if (!mixture_.has_policy()) return log_h;
  const double scale = alpha_ * mixture_.PolicyPosterior(log_odds);
  const double normaliser = stable::Exp(0 - weights.log_total);
  for (size_t j = 0; j < score_gradient.size(); ++j) {
    score_gradient[j] = 0 - scale * normaliser * weights.values[j];
  }
  if (candidates.abstain_score) {
    *abstain_gradient = 0 - scale * normaliser * weights.values.back();
  }
  // 1 - p of the chosen one, without cancellation where p is near 1.
  const bool abstained = action[0] == kAbstain;
  const double score =
      abstained ? *candidates.abstain_score : candidates.scores[action[0]];
  const double log_p = (alpha_ * score - weights.max) - weights.log_total;
  double* const chosen =
      abstained ? abstain_gradient : &score_gradient[action[0]];
  *chosen = 0 - scale * stable::Expm1(log_p);
  return log_h;
}

Action SelectionDistribution::Mode(const ScoredCandidates& candidates) const {
  // Every action is a mode of the uniform distribution: takes the first.
  if (!mixture_.has_policy()) return {0};
  const auto best =
      std::max_element(candidates.scores.begin(), candidates.scores.end());
  if (candidates.abstain_score && *candidates.abstain_score > *best) {
    return {kAbstain};
  }
  return {static_cast<int32_t>(best - candidates.scores.begin())};
}

double SelectionDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  DCHECK(probabilities.size() == candidates.scores.size());
  std::optional<DistributionScratch> local;
  const Weights weights =
      ComputeWeights(candidates, &ScratchOf(candidates, &local));
  const double uniform =
      mixture_.epsilon() / static_cast<double>(weights.values.size());
  const double scale =
      (1 - mixture_.epsilon()) * stable::Exp(0 - weights.log_total);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = scale * weights.values[i] + uniform;
  }
  if (!candidates.abstain_score) return 0;
  return scale * weights.values.back() + uniform;
}

}  // namespace sortition
