#include "core/policies/distributions/mixed_ranking_distribution.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"

namespace sortition {

MixedRankingDistribution::MixedRankingDistribution(double inverse_temperature,
                                                   double uniform_mixture,
                                                   double plackett_luce_mixture,
                                                   double plackett_luce_scale)
    : alpha_(inverse_temperature),
      mixture_(uniform_mixture),
      plackett_luce_mixture_(plackett_luce_mixture),
      plackett_luce_(inverse_temperature *
                         (plackett_luce_scale == 0 ? 1 : plackett_luce_scale),
                     0),
      uniform_(1, 1) {}

bool MixedRankingDistribution::Prepare(const ScoredCandidates& candidates,
                                       DistributionScratch* scratch) const {
  if (!mixture_.has_policy()) return true;
  const bool can_draw = !plackett_luce_mixture_.has_uniform() ||
                        plackett_luce_.CanDraw(candidates);
  scratch->is_prepared = can_draw && PrepareLaw(candidates, scratch);
  return *scratch->is_prepared;
}

bool MixedRankingDistribution::PrepareOnce(const ScoredCandidates& candidates,
                                           DistributionScratch* scratch) const {
  if (candidates.game.is_decided && scratch->is_prepared.has_value()) {
    return *scratch->is_prepared;
  }
  return Prepare(candidates, scratch);
}

double MixedRankingDistribution::Propensity(const ScoredCandidates& candidates,
                                            std::span<const int32_t> action,
                                            bool prepared,
                                            DistributionScratch* scratch,
                                            std::vector<double>* conditionals,
                                            Shares* shares) const {
  if (!prepared) {
    conditionals->assign(action.size(), -HUGE_VAL);
    return -HUGE_VAL;
  }
  const LogMixture& inner = plackett_luce_mixture_;
  if (mixture_.has_policy() && inner.has_policy()) {
    LawConditionals(action, scratch, conditionals);
  } else {
    conditionals->assign(action.size(), 0);
  }
  double inner_log_odds = 0;
  if (mixture_.has_policy() && inner.has_uniform()) {
    ScoredCandidates same = candidates;
    same.scratch = scratch;
    plackett_luce_.ConditionalLogPropensities(same, action, &scratch->others);
    MixOrders(inner, scratch->others, *conditionals, &inner_log_odds);
  }
  double log_odds = 0;
  const double log_h = MixWithUniformOrders(mixture_, candidates.scores.size(),
                                            *conditionals, &log_odds);
  if (shares != nullptr) {
    const double policy = mixture_.PolicyPosterior(log_odds);
    *shares = {policy * inner.PolicyPosterior(inner_log_odds),
               policy * inner.UniformPosterior(inner_log_odds)};
  }
  return log_h;
}

void MixedRankingDistribution::Sample(const ScoredCandidates& candidates,
                                      const CounterRandom& random,
                                      Draw* draw) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  DCHECK(candidates.top_k >= 1 && candidates.top_k <= candidates.scores.size());
  const bool prepared = Prepare(candidates, &scratch);
  if (prepared && mixture_.has_policy()) {
    DescribeGame(candidates, scratch, draw);
  }
  const double epsilon = mixture_.epsilon();
  const double part = random.Uniform(kPart);
  if (!prepared || part < epsilon) {
    uniform_.Sample(candidates, random, draw);
  } else if (part <
             epsilon + (1 - epsilon) * plackett_luce_mixture_.epsilon()) {
    plackett_luce_.Sample(candidates, random, draw);
  } else {
    DrawFromLaw(candidates, random, &scratch, &draw->action);
  }
  draw->log_propensity =
      Propensity(candidates, draw->action, prepared, &scratch,
                 &draw->conditional_log_propensities);
}

double MixedRankingDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  return Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
                    &scratch.conditionals);
}

void MixedRankingDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  CHECK(MarkTaken(candidates, action, &scratch.taken));
  Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
             conditionals);
}

Action MixedRankingDistribution::Mode(
    const ScoredCandidates& candidates) const {
  return RankingDistribution(alpha_, mixture_.epsilon()).Mode(candidates);
}

double MixedRankingDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const double uniform =
      mixture_.epsilon() / static_cast<double>(probabilities.size());
  if (!mixture_.has_policy() || !PrepareOnce(candidates, &scratch)) {
    std::fill(probabilities.begin(), probabilities.end(), uniform);
    return 0;
  }
  const double eta = plackett_luce_mixture_.epsilon();
  if (eta > 0) {
    plackett_luce_.FirstProbabilities(candidates, probabilities);
    for (double& p : probabilities) p *= eta;
  } else {
    std::fill(probabilities.begin(), probabilities.end(), 0);
  }
  if (eta < 1) AddLawFirstProbabilities(1 - eta, &scratch, probabilities);
  for (double& p : probabilities) p = (1 - mixture_.epsilon()) * p + uniform;
  return 0;
}

}  // namespace sortition
