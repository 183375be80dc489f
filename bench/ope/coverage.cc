// How often each interval that claims 95 % holds the truth, and how wide it is.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/ope/parts.h"
#include "bench/ope/scored_world.h"
#include "bench/ope/tabular_world.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/unit_sizes.h"

namespace sortition {
namespace {

constexpr double kConfidence = 0.95;
constexpr uint64_t kWorldSeed = 11;

struct CoverageWorld {
  std::string name;
  TabularWorld world;
  LogShape shape;
};

std::vector<CoverageWorld> MakeWorlds() {
  const auto make = [](const SoftmaxWorldOptions& options) {
    return AtStep(MakeSoftmaxWorld(options, kWorldSeed), 1);
  };
  const TabularWorld plain = make({});
  return {
      {"independent", plain, {.num_units = 2000}},
      {"10 a unit",
       plain,
       {.num_units = 200, .unit_sizes = {10}, .taste = 0.5}},
      {"50 a unit", plain, {.num_units = 60, .unit_sizes = {50}, .taste = 0.5}},
      {"unequal units",
       plain,
       {.num_units = 400, .unit_sizes = {1, 2, 5, 60}, .taste = 0.5}},
      {"heavy weights",
       make({.logging_skill = -0.5,
             .logging_sharpness = 2,
             .target_sharpness = 2,
             .logging_floor = 0.02}),
       {.num_units = 2000}},
      {"rare clicks",
       make({.least_reward = 0.001, .most_reward = 0.009}),
       {.num_units = 5000}},
      {"drifting", make({.drifts = true}), {.num_units = 2000}},
      {"censored", plain, {.num_units = 3000, .censored = 0.3}},
  };
}

PolicySums SumsOf(const std::vector<LoggedDecision>& log,
                  const UnitSizes& sizes) {
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (const LoggedDecision& decision : log) {
    sums.Add(decision.unit, sizes.ShareOf(decision.unit), decision.reward,
             {&decision.judged, 1});
  }
  return sums;
}

struct Coverage {
  int logs = 0;  // To which the kind applies.
  int held = 0;
  double width = 0;

  void Add(const Interval& interval, double truth) {
    ++logs;
    held += interval.lower <= truth && truth <= interval.upper ? 1 : 0;
    width += interval.upper - interval.lower;
  }
  double share() const { return static_cast<double>(held) / logs; }
};

constexpr const char* kDefaultName = "default";

using Coverages = std::map<std::string, Coverage>;  // By name of the kind.

// Takes the default estimator where the kind can, otherwise IPS.
std::optional<JudgedInterval> Make(IntervalTask task, IntervalKind kind) {
  std::optional<JudgedInterval> made = MakeInterval(task, kind);
  if (made.has_value()) return made;
  task.estimator = {EstimatorKind::kIps};
  return MakeInterval(task, kind);
}

double RightOf(const Truth& truth, IntervalTask::Of of) {
  switch (of) {
    case IntervalTask::Of::kLogged:
      return truth.logged;
    case IntervalTask::Of::kGainOverLog:
      return truth.gain();
    default:
      return truth.value;
  }
}

struct Question {
  IntervalTask::Of of;
  const char* what;
};
constexpr Question kQuestions[] = {
    {IntervalTask::Of::kLogged, "the log's mean reward"},
    {IntervalTask::Of::kValue, "the value of another policy"},
    {IntervalTask::Of::kGainOverLog, "its gain over the log"}};

// Adds the intervals of one log.
void AddLog(const IntervalTask& task, double right, Coverages* coverages) {
  for (const IntervalKind kind : AllIntervalKinds()) {
    const std::optional<JudgedInterval> made = Make(task, kind);
    if (!made.has_value()) continue;
    (*coverages)[IntervalKey(kind)].Add(made->interval, right);
  }
  (*coverages)[kDefaultName].Add(BestInterval(task).interval, right);
}

// Returns the coverages by question.
std::vector<Coverages> MeasureWorld(const CoverageWorld& world, int logs) {
  const Truth truth = TruthOf(world.world, world.shape);
  std::vector<Coverages> coverages(std::size(kQuestions));
  for (int log = 0; log < logs; ++log) {
    const auto seed = static_cast<uint64_t>(log) + 1;
    const auto drawn = DrawLog(world.world, world.shape, seed);
    UnitSizes sizes;
    for (const LoggedDecision& decision : drawn) sizes.Add(decision.unit);
    const PolicySums sums = SumsOf(drawn, sizes);
    IntervalTask task;
    task.sums = &sums;
    task.estimator = DefaultEstimator(/*has_model=*/true);
    task.confidence = kConfidence;
    task.seed = seed;
    task.units_are_decisions = world.shape.unit_sizes.back() == 1;
    task.largest_group = sizes.LargestGroup(GroupSums::kDefaultGroups);
    for (size_t q = 0; q < std::size(kQuestions); ++q) {
      task.of = kQuestions[q].of;
      AddLog(task, RightOf(truth, task.of), &coverages[q]);
    }
  }
  return coverages;
}

void PrintRow(const std::string& name, const Coverages& coverages) {
  absl::PrintF("%-14s", name);
  const auto print = [&](const std::string& kind) {
    const auto found = coverages.find(kind);
    if (found == coverages.end()) {
      absl::PrintF(" %14s", "-");
      return;
    }
    absl::PrintF(" %6.1f %7.4f", 100 * found->second.share(),
                 found->second.width / found->second.logs);
  };
  for (const IntervalKind kind : AllIntervalKinds()) print(IntervalKey(kind));
  print(kDefaultName);
  absl::PrintF("\n");
  std::fflush(stdout);
}

void PrintHead(const char* what) {
  absl::PrintF("\nCoverage of %s in %%, and mean width; asymptotic:", what);
  for (const IntervalKind kind : AllIntervalKinds()) {
    if (!HoldsForEverySize(kind)) absl::PrintF(" %s", IntervalKey(kind));
  }
  absl::PrintF("\n%-14s", "world");
  for (const IntervalKind kind : AllIntervalKinds()) {
    absl::PrintF(" %14s", IntervalKey(kind).substr(0, 14));
  }
  absl::PrintF(" %14s\n", kDefaultName);
}

}  // namespace

std::vector<Target> MeasureCoverage(const OpeBenchOptions& options) {
  const std::vector<CoverageWorld> worlds = MakeWorlds();
  std::vector<std::vector<Coverages>> measured;  // By world.
  for (const CoverageWorld& world : worlds) {
    measured.push_back(MeasureWorld(world, options.logs));
  }
  std::map<std::string, double> lowest;
  for (size_t q = 0; q < std::size(kQuestions); ++q) {
    PrintHead(kQuestions[q].what);
    for (size_t w = 0; w < worlds.size(); ++w) {
      PrintRow(worlds[w].name, measured[w][q]);
      for (const auto& [kind, coverage] : measured[w][q]) {
        const auto found = lowest.emplace(kind, 1).first;
        found->second = std::min(found->second, coverage.share());
      }
    }
  }
  std::vector<Target> targets;
  for (const IntervalKind kind : AllIntervalKinds()) {
    if (!HoldsForEverySize(kind)) continue;
    const std::string name = IntervalKey(kind);
    targets.push_back({absl::StrCat("lowest coverage, ", name),
                       lowest.contains(name) ? lowest[name] : 0, 0.94, true});
  }
  return targets;
}

}  // namespace sortition
