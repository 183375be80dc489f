#include "core/policies/distributions/explored_ranking_distributions.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"

namespace sortition {
namespace {

// The random number that chooses the way of exploring.
constexpr uint32_t kWay = 1;

}  // namespace

FactoredRankingDistribution::FactoredRankingDistribution(
    double inverse_temperature, double uniform_mixture,
    const model::v1::PlackettLuce& plackett_luce)
    : MixedRankingDistribution(inverse_temperature, uniform_mixture,
                               /*plackett_luce_mixture=*/0,
                               /*plackett_luce_scale=*/0),
      factors_(plackett_luce.rank_factors().begin(),
               plackett_luce.rank_factors().end()),
      largest_alpha_(inverse_temperature *
                     *std::max_element(factors_.begin(), factors_.end())) {}

bool FactoredRankingDistribution::PrepareLaw(
    const ScoredCandidates& candidates, DistributionScratch* scratch) const {
  if (!AreWithinLimit(candidates.scores, largest_alpha_)) return false;
  scratch->factored.Build(factors_, alpha(), candidates.scores,
                          candidates.top_k);
  return true;
}

void FactoredRankingDistribution::DrawFromLaw(const ScoredCandidates&,
                                              const CounterRandom& random,
                                              DistributionScratch* scratch,
                                              Action* action) const {
  scratch->factored.Draw(random, kFirstBlock, action);
}

void FactoredRankingDistribution::LawConditionals(
    std::span<const int32_t> action, DistributionScratch* scratch,
    std::vector<double>* conditionals) const {
  scratch->factored.ConditionalLogPropensities(action, scratch, conditionals);
}

void FactoredRankingDistribution::AddLawFirstProbabilities(
    double share, DistributionScratch* scratch,
    std::span<double> probabilities) const {
  scratch->factored.AddFirstProbabilities(share, probabilities);
}

// ∂ log h = (1-ε) p / h · ∂ log p.
double FactoredRankingDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  DCHECK(score_gradient.size() == candidates.scores.size());
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  *abstain_gradient = 0;
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  Shares shares;
  const double log_h =
      Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
                 &scratch.conditionals, &shares);
  if (log_h == -HUGE_VAL || shares.law == 0) return log_h;
  scratch.factored.AddGradient(action, shares.law, &scratch, score_gradient);
  return log_h;
}

SortedRankingDistribution::SortedRankingDistribution(
    double inverse_temperature, double uniform_mixture,
    const model::v1::SortedRanking& sorted)
    : MixedRankingDistribution(inverse_temperature, uniform_mixture,
                               /*plackett_luce_mixture=*/0,
                               /*plackett_luce_scale=*/0),
      law_{.alpha = inverse_temperature,
           .swap_probability = sorted.swap_probability(),
           .shuffle_probability = sorted.shuffle_probability(),
           .shuffle_ranks = sorted.shuffle_ranks()} {}

bool SortedRankingDistribution::PrepareLaw(const ScoredCandidates& candidates,
                                           DistributionScratch* scratch) const {
  if (!AreWithinLimit(candidates.scores, alpha())) return false;
  scratch->sorted.Build(law_, candidates.scores, candidates.top_k);
  return true;
}

void SortedRankingDistribution::DrawFromLaw(const ScoredCandidates&,
                                            const CounterRandom& random,
                                            DistributionScratch* scratch,
                                            Action* action) const {
  static_assert(kPart != kWay && kWay < 2 * kFirstBlock);
  scratch->sorted.Draw(random, kWay, kFirstBlock, action);
}

void SortedRankingDistribution::LawConditionals(
    std::span<const int32_t> action, DistributionScratch* scratch,
    std::vector<double>* conditionals) const {
  scratch->sorted.ConditionalLogPropensities(action, conditionals);
}

void SortedRankingDistribution::AddLawFirstProbabilities(
    double share, DistributionScratch* scratch,
    std::span<double> probabilities) const {
  scratch->sorted.AddFirstProbabilities(share, probabilities);
}

}  // namespace sortition
