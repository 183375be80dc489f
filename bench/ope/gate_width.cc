// How many decisions it takes until a better policy passes the gate, as it is
// and as it was.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/ope/gates.h"
#include "bench/ope/parts.h"
#include "bench/ope/scored_world.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr double kImprovements[] = {0.05, 0.1, 0.2};
constexpr size_t kFewest = 50;
constexpr double kGrowth = 1.1;
constexpr int kMostSteps = 90;  // 50 · 1.1^90 = 266,000

size_t SizeAt(int step) {
  return static_cast<size_t>(kFewest * std::pow(kGrowth, step));
}

// Logs of one world; a shorter one is the beginning of a longer.
struct Logs {
  std::vector<GateSample> validation;
  std::vector<GateSample> test;
};

using Passes = std::function<bool(const Logs& logs, size_t log, size_t size)>;

// Returns the fewest decisions, within 10 %, with which at least half of the
// logs pass, by bisection; 0 if they never do.
size_t DecisionsNeeded(const Logs& logs, const Passes& passes) {
  const auto half_pass = [&](size_t size) {
    size_t passed = 0;
    for (size_t log = 0; log < logs.test.size(); ++log) {
      passed += passes(logs, log, size) ? 1 : 0;
    }
    return 2 * passed >= logs.test.size();
  };
  int low = -1;
  int high = kMostSteps;
  if (!half_pass(SizeAt(high))) return 0;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (half_pass(SizeAt(middle)) ? high : low) = middle;
  }
  return SizeAt(high);
}

Logs DrawLogs(const TabularWorld& world, int count) {
  Logs logs;
  const LogShape shape = {.num_units = SizeAt(kMostSteps)};
  for (int log = 0; log < count; ++log) {
    const uint64_t seed = 2 * static_cast<uint64_t>(log) + 1;
    logs.validation.push_back(SampleOf(DrawLog(world, shape, seed)));
    logs.test.push_back(SampleOf(DrawLog(world, shape, seed + 1)));
  }
  return logs;
}

absl::StatusOr<std::vector<Target>> MeasureWorld(const std::string& name,
                                                 const ScoredWorld& scored,
                                                 int num_logs) {
  std::vector<Target> targets;
  for (const double improvement : kImprovements) {
    ASSIGN_OR_RETURN(const TabularWorld world,
                     WithImprovement(scored, improvement));
    const Logs logs = DrawLogs(world, num_logs);
    const size_t bets =
        DecisionsNeeded(logs, [](const Logs& all, size_t log, size_t size) {
          return BettingGate(all.test[log], size, 1) > 0;
        });
    const size_t bernstein =
        DecisionsNeeded(logs, [](const Logs& all, size_t log, size_t size) {
          return BernsteinGate(all.validation[log], all.test[log], size) > 0;
        });
    const size_t normal =
        DecisionsNeeded(logs, [](const Logs& all, size_t log, size_t size) {
          return NormalGate(all.test[log], size, false) > 0;
        });
    const double ratio =
        static_cast<double>(bets) / static_cast<double>(bernstein);
    absl::PrintF("%-8s %4.0f %% %10d %10d %10d %8.2f\n", name,
                 100 * improvement, bets, bernstein, normal, ratio);
    std::fflush(stdout);
    targets.push_back(
        {absl::StrCat("decisions until the gate passes / before, ", name, ", ",
                      100 * improvement, " %"),
         bets > 0 ? ratio : HUGE_VAL, 0.5});
  }
  return targets;
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureWidth(
    const OpeBenchOptions& options) {
  absl::PrintF(
      "\nDecisions of the test part with which half of the logs pass, by true "
      "improvement\n%-8s %6s %10s %10s %10s %8s\n",
      "world", "", "bets", "before", "normal", "ratio");
  ASSIGN_OR_RETURN(const ScoredWorld demo, MakeDemoWorld());
  ASSIGN_OR_RETURN(std::vector<Target> targets,
                   MeasureWorld("demo", demo, options.width_logs));
  constexpr uint64_t kSeed = 5;
  ASSIGN_OR_RETURN(
      std::vector<Target> more,
      MeasureWorld("softmax", MakeSoftmaxWorld(SoftmaxWorldOptions(), kSeed),
                   options.width_logs));
  AppendTargets(std::move(more), &targets);
  return targets;
}

}  // namespace sortition
