// Ranking games against the double oracle with Clp on the same potentials.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/reference/oracle_games.h"
#include "bench/speed/game_potentials.h"
#include "bench/support/clocks.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/games/ranking/graded_game.h"
#include "core/games/ranking/ndcg_game.h"
#include "core/games/ranking/order_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {
namespace {

constexpr size_t kGames = 512;

std::vector<std::vector<double>> Games(size_t n) {
  return RandomGames(kGames, n, 0.4, 0.1);
}

// One iteration solves one game.
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

// Three levels, gains 0, 1 and 3.
void Graded(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  const auto games = Games(n);
  std::vector<std::vector<double>> potentials;
  RandomSequence random(SeedKey(7));
  for (const std::vector<double>& slopes : games) {
    potentials.emplace_back();
    for (const double slope : slopes) {
      for (const double gain : {0, 1, 3}) {
        potentials.back().push_back(
            gain == 0 ? 0 : slope * gain + 0.2 * random.Normal());
      }
    }
  }
  const double gains[] = {0, 1, 3};
  const Discounts discounts = Discounts::Dcg(n);
  GradedGame game;
  GradedEquilibrium equilibrium;
  size_t g = 0;
  for (auto _ : state) {
    CHECK(game.Solve(potentials[g++ % kGames], gains, discounts, &equilibrium)
              .ok());
  }
}
BENCHMARK(Graded)->Arg(10)->Arg(41)->Arg(100)->Arg(1000);

// Also reports the share of games whose gap was closed.
void Ndcg(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  const auto games = Games(n);
  const Discounts discounts = Discounts::Dcg(n);
  NdcgGame game;
  NdcgEquilibrium equilibrium;
  size_t g = 0;
  double closed = 0;
  for (auto _ : state) {
    CHECK(game.Solve(games[g++ % kGames], discounts, {}, &equilibrium).ok());
    closed += equilibrium.status == NdcgStatus::kClosed ? 1 : 0;
  }
  state.counters["closed"] = closed / static_cast<double>(g);
}
BENCHMARK(Ndcg)->Arg(10)->Arg(41)->Arg(100);

void OrderPropensity(benchmark::State& state) {
  const auto games = Games(static_cast<size_t>(state.range(0)));
  BucketOrder policy;
  std::vector<int32_t> order;
  size_t g = 0;
  for (auto _ : state) {
    CHECK(policy.Prepare(games[g % kGames]).ok());
    benchmark::DoNotOptimize(policy.Draw(CounterRandom(SeedKey(g++)), &order));
  }
}
BENCHMARK(OrderPropensity)->Arg(41)->Arg(1000);

// Compares the mean CPU time of the double oracle on the first `num_games`
// games, each to a gap of 1e-6, with that of the exact solver. Their values
// must agree.
template <typename Solve, typename MakeGame>
void Compare(benchmark::State& state, size_t num_games, Solve solve,
             MakeGame make_game) {
  const auto games = Games(static_cast<size_t>(state.range(0)));
  RankingEquilibrium equilibrium;
  for (auto _ : state) {
    double oracle_seconds = 0;
    double worst = 0;
    for (size_t g = 0; g < num_games; ++g) {
      CHECK(solve(games[g], &equilibrium).ok());
      const OracleGame game = make_game(Eigen::Map<const Eigen::VectorXd>(
          games[g].data(), static_cast<Eigen::Index>(games[g].size())));
      const double begin = ThreadCpuSeconds();
      const auto solution = SolveByDoubleOracle(game, {});
      oracle_seconds += ThreadCpuSeconds() - begin;
      CHECK(solution.ok() && solution->converged);
      worst = std::max({worst, std::abs(solution->lower - equilibrium.value),
                        std::abs(solution->upper - equilibrium.value)});
    }
    const double exact_seconds = ThreadCpuSecondsOf([&] {
      for (size_t g = 0; g < kGames; ++g) {
        CHECK(solve(games[g], &equilibrium).ok());
      }
    });
    state.counters["oracle_ms"] =
        1e3 * oracle_seconds / static_cast<double>(num_games);
    state.counters["exact_us"] = 1e6 * exact_seconds / kGames;
    state.counters["ratio"] = oracle_seconds / static_cast<double>(num_games) /
                              (exact_seconds / kGames);
    state.counters["difference"] = worst;
    CHECK(worst < 2e-6);
  }
}

// Solves fewer games if the double oracle takes seconds.
size_t NumGames(const benchmark::State& state) {
  return state.range(0) < 100 ? 20 : 2;
}

// Uses n / 5 positives, as in the paper's precision at k.
void DcgAgainstDoubleOracle(benchmark::State& state) {
  const auto n = static_cast<int>(state.range(0));
  RankingGame game;
  const Discounts discounts = Discounts::Dcg(n);
  const int num_positives = n / 5;
  const double m = num_positives;
  Compare(
      state, NumGames(state),
      [&](const std::vector<double>& psi, RankingEquilibrium* e) {
        return game.Solve(psi, discounts, {m, m}, e);
      },
      [&](const Eigen::VectorXd& psi) {
        return DcgGame(psi, DcgDiscounts(n), {num_positives, num_positives});
      });
}
BENCHMARK(DcgAgainstDoubleOracle)->Arg(10)->Arg(41)->Arg(100)->Iterations(1);

void PrecisionAgainstDoubleOracle(benchmark::State& state) {
  const auto n = static_cast<int>(state.range(0));
  PrecisionGame game;
  const int k = n / 5;
  const double m = k;
  Compare(
      state, NumGames(state),
      [&](const std::vector<double>& psi, RankingEquilibrium* e) {
        return game.Solve(psi, k, {m, m}, e);
      },
      [&](const Eigen::VectorXd& psi) {
        return PrecisionAtKGame(psi, k, {k, k});
      });
}
BENCHMARK(PrecisionAgainstDoubleOracle)
    ->Arg(10)
    ->Arg(41)
    ->Arg(100)
    ->Iterations(1);

}  // namespace
}  // namespace sortition
