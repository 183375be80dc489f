// Ranking games against the double oracle with Clp on the same potentials.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/reference/oracle_games.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/games/precision_game.h"
#include "core/games/ranking_game.h"

namespace sortition {
namespace {

// As of a model that tells relevant items apart, but not surely: one in five at
// 0.6 on average, the others at 0.2.
std::vector<double> Potentials(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> psi(n);
  for (size_t i = 0; i < n; ++i) {
    psi[i] = (i % 5 == 0 ? 0.6 : 0.2) + 0.3 * random.Normal();
  }
  return psi;
}

// Many games in turn, so that branches cannot be learned by heart.
constexpr size_t kGames = 512;

std::vector<std::vector<double>> Games(size_t n) {
  std::vector<std::vector<double>> games;
  for (size_t g = 0; g < kGames; ++g) games.push_back(Potentials(n, g));
  return games;
}

template <typename Solve>
void Run(benchmark::State& state, Solve solve) {
  const auto games = Games(static_cast<size_t>(state.range(0)));
  RankingEquilibrium equilibrium;
  size_t g = 0;
  for (auto _ : state) {
    CHECK(solve(games[g++ % kGames], &equilibrium).ok());
    benchmark::DoNotOptimize(equilibrium.value);
  }
}

void Dcg(benchmark::State& state) {
  RankingGame game;
  const Discounts discounts =
      Discounts::Dcg(static_cast<size_t>(state.range(0)));
  Run(state, [&](const std::vector<double>& psi, RankingEquilibrium* e) {
    return game.Solve(psi, discounts, {}, e);
  });
}
BENCHMARK(Dcg)->Arg(10)->Arg(41)->Arg(100)->Arg(1000);

void DcgAt10(benchmark::State& state) {
  RankingGame game;
  const Discounts discounts = Discounts::Dcg(10);
  Run(state, [&](const std::vector<double>& psi, RankingEquilibrium* e) {
    return game.Solve(psi, discounts, {}, e);
  });
}
BENCHMARK(DcgAt10)->Arg(41)->Arg(100)->Arg(1000);

// k and the adversary's number of positives are n / 5.
void PrecisionAtK(benchmark::State& state) {
  PrecisionGame game;
  const auto k = static_cast<size_t>(state.range(0)) / 5;
  const auto m = static_cast<double>(k);
  Run(state, [&](const std::vector<double>& psi, RankingEquilibrium* e) {
    return game.Solve(psi, k, {m, m}, e);
  });
}
BENCHMARK(PrecisionAtK)->Arg(10)->Arg(41)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace sortition
