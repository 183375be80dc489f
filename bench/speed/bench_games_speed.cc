// Speed of the solvers and samplers of prediction games.
//
// The games are in ranking_games_speed.cc, f_beta_speed.cc and
// sampler_speed.cc.
#include <string>
#include <vector>

#include "bench/support/micro_benchmarks.h"

namespace sortition {
namespace {

std::vector<Target> MakeTargets(const MicroBenchmarkResults& results) {
  const std::string f1_100 = "FBeta/100/6/10/1000/iterations:1";
  return {
      {"DCG, n = 100, us", results.Microseconds("Dcg/100"), 6},
      {"DCG, n = 100, times faster than the double oracle",
       results.Counter("DcgAgainstDoubleOracle/100/iterations:1", "ratio"),
       10'000, true},
      {"precision at k, n = 1000, us",
       results.Microseconds("PrecisionAtK/1000"), 35},
      {"DCG of 3 levels, n = 100, us", results.Microseconds("Graded/100"), 30},
      {"sampler built and order drawn, n = 100, us",
       results.Microseconds("BuildAndDraw/100/0"), 4},
      {"F1, n = 100 to 1e-6, median ms", results.Counter(f1_100, "median_ms"),
       0.35},
      {"F1, n = 100 to 1e-6, mean, times faster than the double oracle",
       results.Counter("FBetaDoubleOracle/100/2/iterations:1",
                       "ratio_of_means"),
       30, true},
      {"F1, n = 1000 to 1e-2, largest ms",
       results.Counter("FBeta/1000/2/1/1000/iterations:1", "max_ms"), 100},
      {"F1, n = 29376 to 1e-2, largest ms",
       results.Counter("FBeta/29376/2/1/1000/iterations:1", "max_ms"), 10'000},
  };
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunMicroBenchmarks(
      argc, argv, "Times the solvers and samplers of prediction games.",
      sortition::MakeTargets);
}
