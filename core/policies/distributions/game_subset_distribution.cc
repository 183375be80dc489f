#include "core/policies/distributions/game_subset_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/status/status.h"
#include "core/base/check.h"

namespace sortition {
namespace {

using model::v1::GameSubset;

constexpr double kDefaultSubsetBlockMixing = 0.9;
constexpr double kDefaultTolerance = 1e-3;
constexpr uint32_t kDefaultRounds = 1000;
// Potentials of F-score games are cut to this, which changes nothing: such
// games do not distinguish potentials beyond ±1.
constexpr double kMaxFBetaPotential = 1e9;

template <typename T>
T OrDefault(T value, T otherwise) {
  return value == 0 ? otherwise : value;
}

bool IsSubset(std::span<const int32_t> action,
              const ScoredCandidates& candidates) {
  if (candidates.top_k > 0 && action.size() != candidates.top_k) return false;
  int64_t last = -1;
  for (const int32_t position : action) {
    if (position <= last) return false;
    last = position;
  }
  return last < static_cast<int64_t>(candidates.scores.size());
}

// Returns the `size` positions of largest value, ascending; ties go to the
// lower position.
Action Largest(std::span<const double> values, size_t size) {
  Action subset(values.size());
  std::iota(subset.begin(), subset.end(), 0);
  std::sort(subset.begin(), subset.end(), [values](int32_t a, int32_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  subset.resize(size);
  std::sort(subset.begin(), subset.end());
  return subset;
}

}  // namespace

FBetaOptions FBetaOptionsOf(const GameSubset& game) {
  FBetaOptions options;
  options.beta = OrDefault(game.beta(), 1.0);
  options.tolerance = OrDefault(game.tolerance(), kDefaultTolerance);
  options.max_rounds =
      static_cast<int>(OrDefault(game.max_rounds(), kDefaultRounds));
  options.with_adversary = false;
  return options;
}

GameSubsetDistribution::GameSubsetDistribution(double inverse_temperature,
                                               double uniform_mixture,
                                               const GameSubset& game)
    : alpha_(inverse_temperature),
      mixture_(uniform_mixture),
      k_(game.measure() == GameSubset::PRECISION ? game.k() : 0),
      block_mixing_(game.has_block_mixing() ? game.block_mixing()
                                            : kDefaultSubsetBlockMixing),
      f_beta_options_(FBetaOptionsOf(game)),
      uniform_(1, 1, 0),
      independent_(inverse_temperature, uniform_mixture, 0) {}

ScoredCandidates GameSubsetDistribution::OfSize(
    const ScoredCandidates& candidates) const {
  ScoredCandidates sized = candidates;
  sized.top_k = !precision()
                    ? 0
                    : std::min(candidates.top_k > 0 ? candidates.top_k : k_,
                               static_cast<uint32_t>(candidates.scores.size()));
  return sized;
}

// The order of the equilibrium has three blocks: the candidates that are surely
// in, then those that are in at random, unordered, then the others.
bool GameSubsetDistribution::PreparePrecision(
    const ScoredCandidates& candidates, DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  const uint32_t k = candidates.top_k;
  const double scale = alpha_ / (1 - mixture_.epsilon());
  std::vector<double>& psi = scratch->values;
  psi.resize(m);
  for (size_t i = 0; i < m; ++i) {
    psi[i] = scale * (candidates.scores[i] - candidates.threshold);
  }
  RankingEquilibrium& equilibrium = scratch->equilibrium;
  if (!scratch->precision_game.Solve(psi, k, {}, &equilibrium).ok()) {
    return false;
  }
  const std::vector<double>& d = equilibrium.expected_discounts;
  std::vector<uint32_t>& begins = scratch->block_begins;
  begins.assign(1, 0);
  size_t end_of_chance = k;
  if (!equilibrium.blocks.empty()) {
    const PooledBlock& chance = equilibrium.blocks[0];
    if (chance.start > 0) begins.push_back(static_cast<uint32_t>(chance.start));
    end_of_chance = static_cast<size_t>(chance.start) + chance.length;
    std::sort(equilibrium.order.begin() + chance.start,
              equilibrium.order.begin() + static_cast<ptrdiff_t>(end_of_chance),
              [&d](int32_t a, int32_t b) {
                return d[a] != d[b] ? d[a] > d[b] : a < b;
              });
  }
  if (end_of_chance < m) begins.push_back(static_cast<uint32_t>(end_of_chance));
  scratch->others.assign(k, 1 / static_cast<double>(k));
  SlotTargets targets;
  targets.discounts = scratch->others;
  targets.expected_discounts = d;
  targets.order = equilibrium.order;
  targets.block_begins = begins;
  targets.view = SlotView::kSet;
  targets.num_shown = k;
  targets.block_mixing = block_mixing_;
  return scratch->slots.Build(targets).ok();
}

bool GameSubsetDistribution::PrepareFBeta(const ScoredCandidates& candidates,
                                          DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  std::vector<double>& psi = scratch->values;
  psi.resize(m);
  for (size_t i = 0; i < m; ++i) {
    psi[i] = std::clamp(alpha_ * (candidates.scores[i] - candidates.threshold),
                        -kMaxFBetaPotential, kMaxFBetaPotential);
  }
  FBetaOptions options = f_beta_options_;
  const GameControls& controls = candidates.game;
  const auto max_rounds = static_cast<uint32_t>(options.max_rounds);
  options.max_rounds = static_cast<int>(
      std::min(max_rounds, controls.rounds.value_or(max_rounds)));
  if (controls.stop != nullptr && !controls.rounds.has_value()) {
    options.stop = *controls.stop;
  }
  FBetaEquilibrium& game = scratch->f_beta;
  absl::Status status =
      scratch->f_beta_game.Solve(psi, options, nullptr, &game);
  if (absl::IsInternal(status)) {
    // Rounding made the search fail before its first round.
    options.max_rounds = 0;
    status = scratch->f_beta_game.Solve(psi, options, nullptr, &game);
  }
  if (!status.ok()) return false;
  scratch->sizes.clear();
  for (const SizedSetMarginals& sets : game.predictor) {
    scratch->sizes.push_back(
        {sets.size, sets.probability, sets.inclusion_probabilities});
  }
  return scratch->sets
      .Build(static_cast<uint32_t>(m), scratch->sizes, block_mixing_, 0)
      .ok();
}

bool GameSubsetDistribution::Prepare(const ScoredCandidates& candidates,
                                     DistributionScratch* scratch) const {
  if (!mixture_.has_policy()) return true;
  scratch->is_prepared = precision() ? PreparePrecision(candidates, scratch)
                                     : PrepareFBeta(candidates, scratch);
  return *scratch->is_prepared;
}

bool GameSubsetDistribution::PrepareOnce(const ScoredCandidates& candidates,
                                         DistributionScratch* scratch) const {
  if (candidates.game.is_decided && scratch->is_prepared.has_value()) {
    return *scratch->is_prepared;
  }
  return Prepare(candidates, scratch);
}

double GameSubsetDistribution::Propensity(const ScoredCandidates& candidates,
                                          std::span<const int32_t> action,
                                          bool prepared,
                                          DistributionScratch* scratch) const {
  if (!prepared) return -HUGE_VAL;
  double log_p = 0;
  double log_q = 0;
  if (mixture_.has_policy()) {
    log_p = precision() ? scratch->slots.LogPropensity(action, nullptr)
                        : scratch->sets.LogPropensity(action);
  }
  if (mixture_.has_uniform()) {
    log_q = uniform_.LogPropensity(candidates, action);
  }
  return mixture_(log_p, log_q);
}

void GameSubsetDistribution::DrawFromGame(const ScoredCandidates& candidates,
                                          const CounterRandom& random,
                                          DistributionScratch* scratch,
                                          Action* action) const {
  std::vector<double>& numbers = scratch->values;
  if (precision()) {
    numbers.resize(scratch->slots.num_numbers());
    random.UniformBlocks(kFirstBlock, numbers);
    action->resize(candidates.top_k);
    scratch->slots.Draw(numbers, *action);
  } else {
    numbers.resize(scratch->sets.num_numbers());
    // Number 1 is for the size.
    random.UniformBlocks(/*first_block=*/0, numbers);
    scratch->sets.Draw(numbers, action);
  }
}

// PRECISION: the value is what d' = ((1-ε) p + ε k/m) / k of the mixture
// guarantees against an adversary who calls those items positive for which d'_i
// < ψ_i: Σ min(0, d'_i - ψ_i). F_BETA: the payoff plus Σψ⁺ is not negative,
// whatever the uniform part draws.
void GameSubsetDistribution::DescribeGame(const ScoredCandidates& candidates,
                                          const DistributionScratch& scratch,
                                          Draw* draw) const {
  const double epsilon = mixture_.epsilon();
  const std::span<const double> scores = candidates.scores;
  if (precision()) {
    if (!candidates.game.return_bounds) return;
    const std::vector<double>& d = scratch.equilibrium.expected_discounts;
    const double uniform = epsilon / static_cast<double>(scores.size());
    double value = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double psi = alpha_ * (scores[i] - candidates.threshold);
      value += std::min(0.0, (1 - epsilon) * d[i] + uniform - psi);
    }
    draw->game = {value, value, 0, 0};
    return;
  }
  const FBetaEquilibrium& game = scratch.f_beta;
  const auto rounds = static_cast<uint32_t>(game.rounds);
  if (candidates.game.rounds.has_value()
          ? *candidates.game.rounds == rounds
          : game.termination == FBetaTermination::kStopped) {
    draw->game_rounds = rounds;
  }
  double positive_sum = 0;
  for (const double score : scores) {
    positive_sum += std::clamp(alpha_ * (score - candidates.threshold), 0.0,
                               kMaxFBetaPotential);
  }
  const double lower = game.lo - epsilon * (game.lo + positive_sum);
  draw->game = {lower, game.hi, std::max(game.hi - game.lo, 0.0), rounds};
}

void GameSubsetDistribution::Sample(const ScoredCandidates& candidates,
                                    const CounterRandom& random,
                                    Draw* draw) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const ScoredCandidates sized = OfSize(candidates);
  const bool prepared = Prepare(sized, &scratch);
  draw->game_rounds.reset();
  draw->game.reset();
  if (prepared && mixture_.has_policy()) DescribeGame(sized, scratch, draw);
  if (!prepared || random.Uniform(kPart) < mixture_.epsilon()) {
    uniform_.Sample(sized, random, draw);
  } else {
    DrawFromGame(sized, random, &scratch, &draw->action);
  }
  draw->conditional_log_propensities.clear();
  draw->log_propensity = Propensity(sized, draw->action, prepared, &scratch);
}

double GameSubsetDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const ScoredCandidates sized = OfSize(candidates);
  if (!IsSubset(action, sized)) return -HUGE_VAL;
  return Propensity(sized, action, Prepare(sized, &scratch), &scratch);
}

Action GameSubsetDistribution::Mode(const ScoredCandidates& candidates) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const ScoredCandidates sized = OfSize(candidates);
  if (precision() || !mixture_.has_policy() || !Prepare(sized, &scratch)) {
    return independent_.Mode(sized);
  }
  Action best;
  double best_log_p = -HUGE_VAL;
  for (const SizedSets& sets : scratch.sizes) {
    Action subset = Largest(sets.inclusion_probabilities, sets.size);
    const double log_p = scratch.sets.LogPropensity(subset);
    if (log_p <= best_log_p) continue;
    best_log_p = log_p;
    best = std::move(subset);
  }
  return best;
}

double GameSubsetDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  const size_t m = candidates.scores.size();
  DCHECK(probabilities.size() == m);
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const ScoredCandidates sized = OfSize(candidates);
  const double k = sized.top_k;
  const double uniform = precision() ? k / static_cast<double>(m) : 0.5;
  if (!mixture_.has_policy() || !PrepareOnce(sized, &scratch)) {
    std::fill(probabilities.begin(), probabilities.end(), uniform);
    return 0;
  }
  std::fill(probabilities.begin(), probabilities.end(), 0);
  for (size_t i = 0; precision() && i < m; ++i) {
    probabilities[i] = k * scratch.equilibrium.expected_discounts[i];
  }
  if (!precision()) {
    for (const SizedSets& sets : scratch.sizes) {
      for (size_t i = 0; sets.size > 0 && i < m; ++i) {
        probabilities[i] += sets.probability * sets.inclusion_probabilities[i];
      }
    }
  }
  const double epsilon = mixture_.epsilon();
  for (double& p : probabilities) p = (1 - epsilon) * p + epsilon * uniform;
  return 0;
}

}  // namespace sortition
