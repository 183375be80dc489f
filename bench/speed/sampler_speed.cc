// Draws from the equilibria of games, and computes the probabilities of the
// draws.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "bench/speed/game_potentials.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/games/ranking/ranking_game.h"
#include "core/games/sampling/slot_sampler.h"
#include "core/policies/distributions/game_ranking_distribution.h"

namespace sortition {
namespace {

constexpr size_t kGames = 256;

// Potentials are further apart than in ranking_games_speed.cc.
constexpr double kRelevantMean = 0.6;
constexpr double kDeviation = 0.3;

// A solved DCG game, and the index of the first item of each block.
struct Solved {
  RankingEquilibrium equilibrium;
  std::vector<uint32_t> block_begins;
};

std::vector<Solved> Games(size_t n, const Discounts& discounts) {
  const auto potentials = RandomGames(kGames, n, kRelevantMean, kDeviation);
  std::vector<Solved> games(kGames);
  RankingGame game;
  for (size_t g = 0; g < kGames; ++g) {
    CHECK(game.Solve(potentials[g], discounts, {}, &games[g].equilibrium).ok());
    for (const PooledBlock& block : games[g].equilibrium.blocks) {
      games[g].block_begins.push_back(static_cast<uint32_t>(block.start));
    }
  }
  return games;
}

// Lists of the first range(1) ranks of range(0) items; 0 means all ranks.
struct Lists {
  explicit Lists(const benchmark::State& state)
      : n(static_cast<size_t>(state.range(0))),
        discounts(Discounts::Dcg(n)),
        games(Games(n, discounts)),
        numbers(n),
        outcome(state.range(1) == 0 ? n : static_cast<size_t>(state.range(1))) {
  }

  void Build(size_t g) {
    const Solved& solved = games[g % kGames];
    SlotTargets targets;
    targets.discounts = discounts.by_rank();
    targets.expected_discounts = solved.equilibrium.expected_discounts;
    targets.order = solved.equilibrium.order;
    targets.block_begins = solved.block_begins;
    targets.num_shown = static_cast<uint32_t>(outcome.size());
    targets.block_mixing = 0.9;
    CHECK(sampler.Build(targets).ok());
  }
  void Draw(size_t g) {
    const std::span<double> used(numbers.data(), sampler.num_numbers());
    CounterRandom(SeedKey(g)).UniformBlocks(0, used);
    sampler.Draw(used, outcome);
  }

  size_t n;
  Discounts discounts;
  std::vector<Solved> games;
  std::vector<double> numbers;
  std::vector<int32_t> outcome;
  SlotSampler sampler;
};

void BuildAndDraw(benchmark::State& state) {
  Lists lists(state);
  size_t g = 0;
  for (auto _ : state) {
    lists.Build(++g);
    lists.Draw(g);
    benchmark::DoNotOptimize(lists.outcome.data());
  }
}
BENCHMARK(BuildAndDraw)->ArgsProduct({{10, 41, 100, 1000}, {0, 10}});

void Propensity(benchmark::State& state) {
  Lists lists(state);
  lists.Build(0);
  lists.Draw(0);
  std::vector<double> conditionals;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        lists.sampler.LogPropensity(lists.outcome, &conditionals));
  }
}
BENCHMARK(Propensity)->ArgsProduct({{10, 41, 100, 1000}, {0, 10}});

// Makes a served decision from its scores: solves the game, draws, and computes
// the propensity.
void SampleRanking(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  model::v1::GameRanking game;
  game.set_discount(model::v1::GameRanking::DCG);
  game.set_cutoff(static_cast<uint32_t>(state.range(1)));
  const GameRankingDistribution distribution(1, 0.02, game);
  const auto scores = RandomGames(kGames, n, kRelevantMean, kDeviation);
  DistributionScratch scratch;
  sortition::Draw draw;
  size_t g = 0;
  for (auto _ : state) {
    ScoredCandidates candidates;
    candidates.scores = scores[++g % kGames];
    candidates.top_k = 10;
    candidates.scratch = &scratch;
    distribution.Sample(candidates, CounterRandom(SeedKey(g)), &draw);
    benchmark::DoNotOptimize(draw.log_propensity);
  }
}
BENCHMARK(SampleRanking)->ArgsProduct({{10, 41, 100, 1000}, {0, 10}});

}  // namespace
}  // namespace sortition
