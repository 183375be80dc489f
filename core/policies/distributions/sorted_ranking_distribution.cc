#include "core/policies/distributions/sorted_ranking_distribution.h"

namespace sortition {
namespace {

// The random number that chooses the way of exploring.
constexpr uint32_t kWay = 1;

}  // namespace

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
