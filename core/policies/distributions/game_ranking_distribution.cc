#include "core/policies/distributions/game_ranking_distribution.h"

#include <algorithm>
#include <optional>

namespace sortition {
namespace {

using model::v1::GameRanking;

constexpr double kDefaultRankingBlockMixing = 0.9;
// Number of ranks whose discounts are computed ahead where all ranks count.
constexpr size_t kRanksAtHand = 1024;

// Returns the discounts by rank; where all ranks count, those of the first.
Discounts MakeDiscounts(const GameRanking& game) {
  const uint32_t cutoff = game.cutoff();
  if (game.discount() == GameRanking::PRECISION) {
    return *Discounts::PrecisionAt(cutoff);
  }
  return Discounts::Dcg(cutoff == 0 ? kRanksAtHand : cutoff);
}

double BlockMixing(const GameRanking& game) {
  return game.has_block_mixing() ? game.block_mixing()
                                 : kDefaultRankingBlockMixing;
}

}  // namespace

GameRankingDistribution::GameRankingDistribution(double inverse_temperature,
                                                 double uniform_mixture,
                                                 const GameRanking& game)
    : MixedRankingDistribution(inverse_temperature, uniform_mixture,
                               game.plackett_luce_mixture(),
                               game.plackett_luce_scale()),
      block_mixing_(BlockMixing(game)),
      all_ranks_(game.cutoff() == 0),
      discounts_(MakeDiscounts(game)) {}

// Candidates in no block have expected discount 0. Each becomes a block of its
// own, in the order of the scores as far as they are shown.
void GameRankingDistribution::FindBlocks(const ScoredCandidates& candidates,
                                         DistributionScratch* scratch) const {
  std::vector<int32_t>& order = scratch->equilibrium.order;
  std::vector<uint32_t>& begins = scratch->block_begins;
  begins.clear();
  size_t end = 0;
  for (const PooledBlock& block : scratch->equilibrium.blocks) {
    begins.push_back(static_cast<uint32_t>(end));
    end += static_cast<size_t>(block.length);
  }
  if (end < candidates.top_k) {
    const std::span<const double> scores = candidates.scores;
    const auto before = [scores](int32_t a, int32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    std::partial_sort(order.begin() + static_cast<ptrdiff_t>(end),
                      order.begin() + candidates.top_k, order.end(), before);
  }
  for (; end < order.size(); ++end) {
    begins.push_back(static_cast<uint32_t>(end));
    if (end >= candidates.top_k) break;  // The rest does not matter.
  }
}

bool GameRankingDistribution::PrepareLaw(const ScoredCandidates& candidates,
                                         DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  const double scale = alpha() / (1 - mixture().epsilon());
  std::vector<double>& psi = scratch->values;
  psi.resize(m);
  for (size_t i = 0; i < m; ++i) psi[i] = scale * candidates.scores[i];
  std::optional<Discounts> more;
  if (all_ranks_ && m > discounts_.size()) more = Discounts::Dcg(m);
  const Discounts& discounts = more ? *more : discounts_;
  if (!scratch->game.Solve(psi, discounts, {}, &scratch->equilibrium).ok()) {
    return false;
  }
  FindBlocks(candidates, scratch);
  SlotTargets targets;
  targets.discounts = discounts.by_rank();
  targets.expected_discounts = scratch->equilibrium.expected_discounts;
  targets.order = scratch->equilibrium.order;
  targets.block_begins = scratch->block_begins;
  targets.num_shown = candidates.top_k;
  targets.block_mixing = block_mixing_;
  return scratch->slots.Build(targets).ok();
}

// Against expected discounts d' an adversary calls those items positive for
// which d'_i < ψ_i, and the payoff is Σ min(0, d'_i - ψ_i). d' = (1-ε) d + ε
// mean(D) is optimal among the policies that explore this much. Of the share η
// of Plackett-Luce only d' >= 0 is known.
void GameRankingDistribution::DescribeGame(const ScoredCandidates& candidates,
                                           const DistributionScratch& scratch,
                                           Draw* draw) const {
  if (!candidates.game.return_bounds) return;
  const std::span<const double> scores = candidates.scores;
  const std::vector<double>& d = scratch.equilibrium.expected_discounts;
  double sum = 0;
  for (const double discount : d) sum += discount;
  const double uniform =
      mixture().epsilon() * sum / static_cast<double>(scores.size());
  const double share = 1 - mixture().epsilon();
  const double own_share = share * (1 - plackett_luce_mixture().epsilon());
  GameBounds bounds;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double psi = alpha() * scores[i];
    bounds.lower += std::min(0.0, own_share * d[i] + uniform - psi);
    bounds.upper += std::min(0.0, share * d[i] + uniform - psi);
  }
  draw->game = bounds;
}

void GameRankingDistribution::DrawFromLaw(const ScoredCandidates& candidates,
                                          const CounterRandom& random,
                                          DistributionScratch* scratch,
                                          Action* action) const {
  std::vector<double>& numbers = scratch->values;
  numbers.resize(scratch->slots.num_numbers());
  random.UniformBlocks(kFirstBlock, numbers);
  action->resize(candidates.top_k);
  scratch->slots.Draw(numbers, *action);
}

void GameRankingDistribution::LawConditionals(
    std::span<const int32_t> action, DistributionScratch* scratch,
    std::vector<double>* conditionals) const {
  scratch->slots.LogPropensity(action, conditionals);
}

void GameRankingDistribution::AddLawFirstProbabilities(
    double share, DistributionScratch* scratch,
    std::span<double> probabilities) const {
  scratch->others.resize(probabilities.size());
  scratch->slots.FirstProbabilities(scratch->others);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] += share * scratch->others[i];
  }
}

}  // namespace sortition
