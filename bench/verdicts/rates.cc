// Part `rates`: the default interval of a value at small click rates, its width
// on each side compared with Student's, and its coverage.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/unit_sizes.h"

namespace sortition {
namespace {

constexpr size_t kContexts = 20;
constexpr size_t kActions = 10;
constexpr double kClickRates[] = {0.002, 0.005, 0.01, 0.02};

struct Context {
  std::array<double, kActions> logging;
  std::array<double, kActions> target;
  std::array<double, kActions> appeal;  // Clicks, as multiples of the rate.
  MissingMass missing;
};

struct RateWorld {
  const char* name;
  double sharpness = 1;                    // The target's sharpness.
  std::vector<uint32_t> unit_sizes = {1};  // Equally likely.
  // Factor of the clicks of one unit in five; the other units have the factor
  // that makes the mean 1.
  double taste = 1;
  bool has_width_target = true;

  bool has_units() const { return unit_sizes.back() > 1; }
};

std::vector<RateWorld> MakeRateWorlds() {
  return {
      {.name = "independent"},
      {.name = "5 a unit", .unit_sizes = {5}, .taste = 3},
      {.name = "unequal units", .unit_sizes = {1, 2, 5, 20}, .taste = 3},
      {.name = "heavy weights", .sharpness = 2.2, .has_width_target = false}};
}

std::vector<Context> MakeContexts(const RateWorld& world) {
  RandomSequence random(SeedKey(7));
  std::vector<Context> contexts(kContexts);
  double mean = 0;
  for (Context& context : contexts) {
    double logged = 0;
    double wanted = 0;
    for (size_t a = 0; a < kActions; ++a) {
      const double liked = random.Normal();
      logged += context.logging[a] = std::exp(0.5 * random.Normal());
      wanted += context.target[a] = std::exp(world.sharpness * liked);
      context.appeal[a] = std::exp(0.7 * liked);
    }
    for (size_t a = 0; a < kActions; ++a) {
      // A fifth is uniform.
      context.logging[a] = 0.8 * context.logging[a] / logged + 0.2 / kActions;
      context.target[a] /= wanted;
      mean += context.logging[a] * context.appeal[a] / kContexts;
    }
    context.missing = MissingMassOf(context.target, context.logging);
  }
  for (Context& context : contexts) {
    for (double& appeal : context.appeal) appeal /= mean;
  }
  return contexts;
}

double ValueOf(const std::vector<Context>& contexts, double rate) {
  double value = 0;
  for (const Context& context : contexts) {
    for (size_t a = 0; a < kActions; ++a) {
      value += context.target[a] * rate * context.appeal[a] / kContexts;
    }
  }
  return value;
}

// One in five units clicks `taste` times as often.
double TasteOf(const RateWorld& world, RandomSequence* random) {
  constexpr double kShare = 0.2;
  if (world.taste == 1) return 1;
  return random->Uniform() < kShare ? world.taste
                                    : (1 - kShare * world.taste) / (1 - kShare);
}

struct Bounds {
  Interval best;
  Interval student;
};

// A log of some `decisions` decisions.
Bounds DrawAndJudge(const RateWorld& world,
                    const std::vector<Context>& contexts, double rate,
                    uint64_t decisions, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  // UnitSizes needs all units before the log is judged.
  std::vector<uint32_t> sizes;
  for (uint64_t drawn = 0; drawn < decisions;) {
    sizes.push_back(world.unit_sizes[random.Below(world.unit_sizes.size())]);
    drawn += sizes.back();
  }
  UnitSizes units;
  for (size_t unit = 0; world.has_units() && unit < sizes.size(); ++unit) {
    const uint64_t hash = SeedKey(seed * 1000003 + unit).low;
    for (uint32_t i = 0; i < sizes[unit]; ++i) units.Add(hash);
  }
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (size_t unit = 0; unit < sizes.size(); ++unit) {
    const uint64_t hash = SeedKey(seed * 1000003 + unit).low;
    const double share = world.has_units() ? units.ShareOf(hash) : 1;
    const double taste = TasteOf(world, &random);
    for (uint32_t i = 0; i < sizes[unit]; ++i) {
      const Context& context = contexts[random.Below(kContexts)];
      double left = random.Uniform();
      size_t action = 0;
      while (action + 1 < kActions && left >= context.logging[action]) {
        left -= context.logging[action++];
      }
      JudgedDecision judged = {.log_weight = std::log(context.target[action] /
                                                      context.logging[action])};
      judged.missing = context.missing;
      const double click = taste * rate * context.appeal[action];
      sums.Add(hash, share, random.Uniform() < click ? 1 : 0, {&judged, 1});
    }
  }
  IntervalTask task;
  task.sums = &sums;
  task.estimator = {EstimatorKind::kSelfNormalised};
  task.units_are_decisions = !world.has_units();
  if (world.has_units()) {
    task.largest_group = units.LargestGroup(GroupSums::kDefaultGroups);
  }
  return {BestInterval(task).interval,
          MakeInterval(task, IntervalKind::kStudent)->interval};
}

struct RateRow {
  int logs = 0;
  int held = 0;
  double lower = 0;  // Σ of distances of the ends from the estimate.
  double upper = 0;
  double student = 0;

  void Add(const Bounds& bounds, double truth) {
    ++logs;
    held += bounds.best.lower <= truth && truth <= bounds.best.upper ? 1 : 0;
    lower += bounds.best.value - bounds.best.lower;
    upper += bounds.best.upper - bounds.best.value;
    student += (bounds.student.upper - bounds.student.lower) / 2;
  }
};

RateRow MeasureRow(const RateWorld& world, double rate, uint64_t decisions,
                   int logs, int threads) {
  const std::vector<Context> contexts = MakeContexts(world);
  std::vector<Bounds> bounds(static_cast<size_t>(logs));
  const absl::Status status =
      RunInParallel(bounds.size(), threads, [&](size_t log) {
        bounds[log] =
            DrawAndJudge(world, contexts, rate, decisions, log * 17 + 1);
        return absl::OkStatus();
      });
  CHECK(status.ok());
  RateRow row;
  for (const Bounds& each : bounds) row.Add(each, ValueOf(contexts, rate));
  return row;
}

}  // namespace

std::vector<Target> MeasureRates(const VerdictOptions& options) {
  constexpr double kAllowedWidth = 2.5;
  constexpr double kWantedCoverage = 0.94;
  absl::PrintF(
      "\nIntervals at small click rates: ends as multiples of Student's\n"
      "%-14s %6s %9s %6s %8s %8s %8s\n",
      "world", "rate", "decisions", "logs", "held", "lower", "upper");
  std::vector<Target> targets;
  for (const RateWorld& world : MakeRateWorlds()) {
    double widest = 0;
    for (const double rate : kClickRates) {
      int held = 0;
      int logs = 0;
      // There are fewer long logs.
      for (const uint64_t tenfold : {1, 10, 100}) {
        const RateRow row =
            MeasureRow(world, rate, 10000 * tenfold,
                       std::max(options.runs / static_cast<int>(tenfold), 2),
                       options.threads);
        held += row.held;
        logs += row.logs;
        widest = std::max(
            {widest, row.lower / row.student, row.upper / row.student});
        absl::PrintF("%-14s %5.1f%% %9d %6d %7.1f%% %8.2f %8.2f\n", world.name,
                     100 * rate, 10000 * tenfold, row.logs,
                     100.0 * row.held / row.logs, row.lower / row.student,
                     row.upper / row.student);
        std::fflush(stdout);
      }
      targets.push_back({absl::StrFormat("rates: %s, %g %% clicks, coverage",
                                         world.name, 100 * rate),
                         static_cast<double>(held) / logs, kWantedCoverage,
                         true});
    }
    if (!world.has_width_target) continue;
    targets.push_back(
        {absl::StrCat("rates: ", world.name, ", widest side against Student's"),
         widest, kAllowedWidth});
  }
  return targets;
}

}  // namespace sortition
