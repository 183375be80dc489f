// F-beta games against the double oracle with Clp on the same potentials. Games
// of one size differ by orders of magnitude in time, so the counters describe
// the CPU times of single games, for each the least of `kRepetitions`.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/reference/oracle_games.h"
#include "bench/support/clocks.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/games/f_beta/f_beta_game.h"

namespace sortition {
namespace {

constexpr int kRepetitions = 3;

// Normal potentials of 12 scales and shifts (18 if n >= 1000), times 5/n, so
// that about a fifth of the items matter at a time. The games range from closed
// forms to pure equilibria.
std::vector<std::vector<double>> Games(int n, int draws) {
  const std::vector<double> scales =
      n < 1000 ? std::vector<double>{0.5, 1, 2, 4}
               : std::vector<double>{0.2, 0.5, 1, 2, 4, 10};
  RandomSequence random(SeedKey(7), static_cast<uint32_t>(n));
  std::vector<std::vector<double>> games;
  for (int draw = 0; draw < draws; ++draw) {
    for (const double scale : scales) {
      for (const double shift : {-1., 0., 1.}) {
        std::vector<double>& psi = games.emplace_back(n);
        for (double& potential : psi) {
          potential = (scale * random.Normal() + shift) * 5 / n;
        }
      }
    }
  }
  return games;
}

// Returns the least CPU milliseconds of solve(game) over the repetitions.
template <typename Solve>
double LeastMilliseconds(size_t game, int repetitions, const Solve& solve) {
  double least = INFINITY;
  for (int k = 0; k < repetitions; ++k) {
    least = std::min(least, 1e3 * ThreadCpuSecondsOf([&] { solve(game); }));
  }
  return least;
}

// Times solve(game) for every game; the counters are in milliseconds.
template <typename Solve>
void Time(benchmark::State& state, size_t num_games, int repetitions,
          Solve solve) {
  std::vector<double> times(num_games);
  for (auto _ : state) {
    for (size_t game = 0; game < num_games; ++game) {
      times[game] = LeastMilliseconds(game, repetitions, solve);
    }
  }
  std::sort(times.begin(), times.end());
  state.counters["games"] = static_cast<double>(num_games);
  state.counters["mean_ms"] = Mean(times);
  state.counters["median_ms"] = times[num_games / 2];
  state.counters["p90_ms"] = times[num_games * 9 / 10];
  state.counters["max_ms"] = times.back();
}

// Arguments: n, -log10 of the tolerance, draws, limit of rounds.
void FBeta(benchmark::State& state) {
  const auto games =
      Games(static_cast<int>(state.range(0)), static_cast<int>(state.range(2)));
  FBetaOptions options;
  options.tolerance = std::pow(10., -static_cast<double>(state.range(1)));
  options.max_rounds = static_cast<int>(state.range(3));
  FBetaSolver solver;
  FBetaEquilibrium equilibrium;
  double gap = 0;
  int missed = 0;
  Time(state, games.size(), kRepetitions, [&](size_t game) {
    CHECK(solver.Solve(games[game], options, nullptr, &equilibrium).ok());
    const double here = equilibrium.hi - equilibrium.lo;
    gap = std::max(gap, here);
    missed += here > options.tolerance ? 1 : 0;
  });
  state.counters["worst_gap"] = gap;
  state.counters["missed"] = static_cast<double>(missed) / kRepetitions;
  state.counters["peak_mib"] = PeakMebibytes();
}
BENCHMARK(FBeta)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->Args({10, 6, 20, 1000})
    ->Args({41, 6, 20, 1000})
    ->Args({100, 2, 10, 1000})
    ->Args({100, 6, 10, 1000})
    ->Args({200, 6, 2, 1000})
    ->Args({1000, 2, 1, 1000})
    ->Args({1000, 3, 1, 60})
    ->Args({1000, 3, 1, 1000})
    ->Args({29376, 2, 1, 1000});

// Starts from the sets of the same game before a small step, as learners do.
void FBetaWarm(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const auto games = Games(n, 10);
  RandomSequence random(SeedKey(8));
  std::vector<std::vector<double>> moved = games;
  for (auto& psi : moved) {
    for (double& potential : psi) potential += 1e-3 * random.Normal() / n;
  }
  FBetaSolver solver;
  FBetaEquilibrium equilibrium;
  std::vector<FBetaWarmStart> warm(games.size());
  for (size_t game = 0; game < games.size(); ++game) {
    CHECK(solver.Solve(games[game], {}, &warm[game], &equilibrium).ok());
  }
  Time(state, games.size(), 1, [&](size_t game) {
    CHECK(solver.Solve(moved[game], {}, &warm[game], &equilibrium).ok());
  });
}
BENCHMARK(FBetaWarm)->Iterations(1)->Arg(41)->Arg(100);

// Solves the first draws of the same games to a gap of 1e-6.
void FBetaDoubleOracle(benchmark::State& state) {
  const auto games =
      Games(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  int missed = 0;
  Time(state, games.size(), 1, [&](size_t game) {
    const Eigen::Map<const Eigen::VectorXd> psi(
        games[game].data(), static_cast<Eigen::Index>(games[game].size()));
    const auto solution = SolveByDoubleOracle(FBetaGame(psi, 1), {});
    missed += solution.ok() && solution->converged ? 0 : 1;
  });
  state.counters["missed"] = missed;
  // Solves the same games with the solver.
  const double mean = state.counters["mean_ms"];
  FBetaSolver solver;
  FBetaEquilibrium equilibrium;
  std::vector<double> times;
  for (size_t game = 0; game < games.size(); ++game) {
    times.push_back(LeastMilliseconds(game, kRepetitions, [&](size_t g) {
      CHECK(solver.Solve(games[g], {}, nullptr, &equilibrium).ok());
    }));
  }
  state.counters["ratio_of_means"] = mean / Mean(times);
}
BENCHMARK(FBetaDoubleOracle)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->Args({10, 20})
    ->Args({41, 2})
    ->Args({100, 2});

}  // namespace
}  // namespace sortition
