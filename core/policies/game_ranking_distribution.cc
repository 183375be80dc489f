#include "core/policies/game_ranking_distribution.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/check.h"

namespace sortition {
namespace {

using model::v1::GameRanking;

constexpr double kDefaultBlockMixing = 0.9;
// Number of ranks whose discounts are computed ahead where all ranks count.
constexpr size_t kRanksAtHand = 1024;

// The random numbers of a draw, as in RankingDistribution: number 0 chooses the
// part of the mixture, those from 2 on are for the game.
constexpr uint32_t kPart = 0;
constexpr uint32_t kFirstBlock = 1;

// Returns the discounts by rank; where all ranks count, those of the first.
Discounts MakeDiscounts(const GameRanking& game) {
  const uint32_t cutoff = game.cutoff();
  if (game.discount() == GameRanking::PRECISION) {
    return *Discounts::PrecisionAt(cutoff);
  }
  return Discounts::Dcg(cutoff == 0 ? kRanksAtHand : cutoff);
}

double BlockMixing(const GameRanking& game) {
  return game.has_block_mixing() ? game.block_mixing() : kDefaultBlockMixing;
}

double PlackettLuceScale(const GameRanking& game) {
  return game.plackett_luce_scale() == 0 ? 1 : game.plackett_luce_scale();
}

}  // namespace

GameRankingDistribution::GameRankingDistribution(double inverse_temperature,
                                                 double uniform_mixture,
                                                 const GameRanking& game)
    : alpha_(inverse_temperature),
      mixture_(uniform_mixture),
      block_mixing_(BlockMixing(game)),
      plackett_luce_mixture_(game.plackett_luce_mixture()),
      plackett_luce_alpha_(inverse_temperature * PlackettLuceScale(game)),
      plackett_luce_(plackett_luce_alpha_, 0),
      all_ranks_(game.cutoff() == 0),
      discounts_(MakeDiscounts(game)),
      uniform_(1, 1) {}

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

bool GameRankingDistribution::Prepare(const ScoredCandidates& candidates,
                                      DistributionScratch* scratch) const {
  if (!mixture_.has_policy()) return true;
  const size_t m = candidates.scores.size();
  const double scale = alpha_ / (1 - mixture_.epsilon());
  std::vector<double>& psi = scratch->values;
  psi.resize(m);
  for (size_t i = 0; i < m; ++i) psi[i] = scale * candidates.scores[i];
  if (plackett_luce_mixture_.has_uniform()) {
    for (const double score : candidates.scores) {
      if (!(std::abs(plackett_luce_alpha_ * score) <= kMaxRankingLogit)) {
        return false;
      }
    }
  }
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
GameBounds GameRankingDistribution::DescribeGame(
    const ScoredCandidates& candidates,
    const DistributionScratch& scratch) const {
  const std::span<const double> scores = candidates.scores;
  const std::vector<double>& d = scratch.equilibrium.expected_discounts;
  double sum = 0;
  for (const double discount : d) sum += discount;
  const double uniform =
      mixture_.epsilon() * sum / static_cast<double>(scores.size());
  const double share = 1 - mixture_.epsilon();
  const double own_share = share * (1 - plackett_luce_mixture_.epsilon());
  GameBounds bounds;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double psi = alpha_ * scores[i];
    bounds.lower += std::min(0.0, own_share * d[i] + uniform - psi);
    bounds.upper += std::min(0.0, share * d[i] + uniform - psi);
  }
  return bounds;
}

double GameRankingDistribution::Propensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    bool prepared, DistributionScratch* scratch,
    std::vector<double>* conditionals) const {
  if (!prepared) {
    conditionals->assign(action.size(), -HUGE_VAL);
    return -HUGE_VAL;
  }
  if (mixture_.has_policy()) {
    scratch->slots.LogPropensity(action, conditionals);
    if (plackett_luce_mixture_.has_uniform()) {
      plackett_luce_.ConditionalLogPropensities(candidates, action,
                                                &scratch->others);
      MixOrders(plackett_luce_mixture_, scratch->others, *conditionals);
    }
  } else {
    conditionals->assign(action.size(), 0);
  }
  double log_odds = 0;
  return MixWithUniformOrders(mixture_, candidates.scores.size(), *conditionals,
                              &log_odds);
}

void GameRankingDistribution::Sample(const ScoredCandidates& candidates,
                                     const CounterRandom& random,
                                     Draw* draw) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  DCHECK(candidates.top_k >= 1 && candidates.top_k <= candidates.scores.size());
  const bool prepared = Prepare(candidates, &scratch);
  if (candidates.game.return_bounds && prepared && mixture_.has_policy()) {
    draw->game = DescribeGame(candidates, scratch);
  }
  const double epsilon = mixture_.epsilon();
  const double part = random.Uniform(kPart);
  if (!prepared || part < epsilon) {
    uniform_.Sample(candidates, random, draw);
  } else if (part <
             epsilon + (1 - epsilon) * plackett_luce_mixture_.epsilon()) {
    plackett_luce_.Sample(candidates, random, draw);
  } else {
    std::vector<double>& numbers = scratch.values;
    numbers.resize(scratch.slots.num_numbers());
    random.UniformBlocks(kFirstBlock, numbers);
    draw->action.resize(candidates.top_k);
    scratch.slots.Draw(numbers, draw->action);
  }
  draw->log_propensity =
      Propensity(candidates, draw->action, prepared, &scratch,
                 &draw->conditional_log_propensities);
}

double GameRankingDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  return Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
                    &scratch.conditionals);
}

void GameRankingDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  CHECK(MarkTaken(candidates, action, &scratch.taken));
  Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
             conditionals);
}

double GameRankingDistribution::LogPropensityGradient(const ScoredCandidates&,
                                                      std::span<const int32_t>,
                                                      std::span<double>,
                                                      double*) const {
  CHECK(has_gradient());
  return -HUGE_VAL;
}

Action GameRankingDistribution::Mode(const ScoredCandidates& candidates) const {
  return RankingDistribution(alpha_, mixture_.epsilon()).Mode(candidates);
}

double GameRankingDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const double uniform =
      mixture_.epsilon() / static_cast<double>(probabilities.size());
  if (!mixture_.has_policy() || !Prepare(candidates, &scratch)) {
    std::fill(probabilities.begin(), probabilities.end(), uniform);
    return 0;
  }
  scratch.slots.FirstProbabilities(probabilities);
  if (const double eta = plackett_luce_mixture_.epsilon(); eta > 0) {
    scratch.others.resize(probabilities.size());
    plackett_luce_.FirstProbabilities(candidates, scratch.others);
    for (size_t i = 0; i < probabilities.size(); ++i) {
      probabilities[i] = (1 - eta) * probabilities[i] + eta * scratch.others[i];
    }
  }
  for (double& p : probabilities) p = (1 - mixture_.epsilon()) * p + uniform;
  return 0;
}

}  // namespace sortition
