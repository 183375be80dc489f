#include "core/policies/distributions/boltzmann_ranking_distribution.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;

constexpr uint32_t kDefaultHead = 12;

}  // namespace

uint32_t HeadOf(const BoltzmannRanking& boltzmann) {
  return boltzmann.head() == 0 ? kDefaultHead : boltzmann.head();
}

std::vector<double> RankWeightsOf(const BoltzmannRanking& boltzmann) {
  std::vector<double> weights(HeadOf(boltzmann));
  for (uint32_t r = 0; r < weights.size(); ++r) {
    const bool beyond = boltzmann.cutoff() > 0 && r >= boltzmann.cutoff();
    const uint32_t counted = beyond ? boltzmann.cutoff() : r;
    switch (boltzmann.rank_weights()) {
      case BoltzmannRanking::DCG:
        weights[r] =
            beyond ? 0
                   : stable::Log(2) / stable::Log(static_cast<double>(r) + 2);
        break;
      case BoltzmannRanking::CUSTOM:
        weights[r] = boltzmann.weights(
            std::min(static_cast<int>(counted), boltzmann.weights_size() - 1));
        break;
      default:
        weights[r] = 0 - static_cast<double>(counted);
    }
  }
  return weights;
}

BoltzmannRankingDistribution::BoltzmannRankingDistribution(
    double inverse_temperature, double uniform_mixture,
    const BoltzmannRanking& boltzmann)
    : MixedRankingDistribution(inverse_temperature, uniform_mixture,
                               boltzmann.plackett_luce_mixture(),
                               boltzmann.plackett_luce_scale()),
      tail_alpha_(inverse_temperature *
                  (boltzmann.tail_scale() == 0 ? 1 : boltzmann.tail_scale())),
      rank_weights_(RankWeightsOf(boltzmann)) {}

bool BoltzmannRankingDistribution::PrepareLaw(
    const ScoredCandidates& candidates, DistributionScratch* scratch) const {
  if (!plackett_luce_mixture().has_policy()) return true;
  const bool has_tail = candidates.scores.size() > rank_weights_.size();
  if (!AreWithinLimit(candidates.scores,
                      has_tail ? std::max(alpha(), tail_alpha_) : alpha())) {
    return false;
  }
  return scratch->head_tail.Build({.rank_weights = rank_weights_,
                                   .alpha = alpha(),
                                   .tail_alpha = tail_alpha_},
                                  candidates.scores, candidates.top_k);
}

void BoltzmannRankingDistribution::DrawFromLaw(const ScoredCandidates&,
                                               const CounterRandom& random,
                                               DistributionScratch* scratch,
                                               Action* action) const {
  scratch->head_tail.Draw(random, kFirstBlock, action);
}

void BoltzmannRankingDistribution::LawConditionals(
    std::span<const int32_t> action, DistributionScratch* scratch,
    std::vector<double>* conditionals) const {
  scratch->head_tail.ConditionalLogPropensities(action, scratch, conditionals);
}

void BoltzmannRankingDistribution::AddLawFirstProbabilities(
    double share, DistributionScratch* scratch,
    std::span<double> probabilities) const {
  scratch->head_tail.AddFirstProbabilities(share, probabilities);
}

// ∂ log h is the sum of the gradients of the parts, each weighted by the
// posterior probability that the part drew the action.
double BoltzmannRankingDistribution::LogPropensityGradient(
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
  if (log_h == -HUGE_VAL) return log_h;
  if (shares.plackett_luce > 0) {
    ScoredCandidates same = candidates;
    same.scratch = &scratch;
    plackett_luce().LogPropensityGradient(same, action, score_gradient,
                                          abstain_gradient);
    for (double& derivative : score_gradient) {
      derivative *= shares.plackett_luce;
    }
  }
  if (shares.law > 0) {
    scratch.head_tail.AddGradient(shares.law, &scratch, score_gradient);
  }
  return log_h;
}

}  // namespace sortition
