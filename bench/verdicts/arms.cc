// Part `arms`: traffic splits by unit. A unit keeps its version, and returns
// more or less often with one of the two versions.
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "core/counterfactual/evaluation/unit_sizes.h"
#include "trainer/ope/policies/arm_propensities.h"

namespace sortition {
namespace {

// Two versions with half of the units each choose one of two actions; the
// policy that is judged chooses uniformly.
constexpr double kFirst[] = {0.9, 0.2};  // P(action 0), by version.
constexpr double kRewards[] = {0.6, 0.4};
constexpr double kTruth = 0.5;
constexpr int kUnits = 500;
constexpr double kDecisionsPerUnit = 3;

struct ArmCase {
  double return_rate = 1;  // Decisions per unit: version 0 over version 1.
  bool has_units = true;   // False: each decision draws its own version.
  std::string arms = "auto";
};

struct ArmLog {
  std::vector<double> rewards;
  std::vector<double> log_weights;
  std::vector<uint64_t> units;
};

ArmLog DrawArmLog(const ArmCase& arm_case, uint64_t seed) {
  config::v1::OpeOptions options;
  options.set_arms(arm_case.arms);
  ArmPropensities propensities = *ArmPropensities::Create(options);
  RandomSequence random(SeedKey(seed));
  ArmLog log;
  for (int unit = 0; unit < kUnits; ++unit) {
    size_t version = random.Uniform() < 0.5 ? 0 : 1;
    const double mean =
        kDecisionsPerUnit * (version == 0 ? arm_case.return_rate : 1);
    do {
      if (!arm_case.has_units) version = random.Uniform() < 0.5 ? 0 : 1;
      const size_t action = random.Uniform() < kFirst[version] ? 0 : 1;
      const double own = action == 0 ? kFirst[version] : 1 - kFirst[version];
      const double first = (kFirst[0] + kFirst[1]) / 2;
      log::v1::Decision decision;
      decision.set_decision_id(absl::StrCat(seed, "/", log.rewards.size()));
      if (arm_case.has_units) decision.set_unit_id(absl::StrCat("u", unit));
      decision.mutable_arm()->set_mixture_log_propensity(
          std::log(action == 0 ? first : 1 - first));
      ArmUse use = ArmUse::kNoArm;
      log.log_weights.push_back(
          std::log(0.5) -
          propensities.Of(decision, std::log(own), /*is_cut=*/false, &use));
      log.rewards.push_back(random.Uniform() < kRewards[action] ? 1 : 0);
      log.units.push_back(UnitKey(decision.unit_id(), decision.decision_id()));
    } while (random.Uniform() < 1 - 1 / mean);
  }
  return log;
}

Interval ValueIn(const ArmLog& log) {
  UnitSizes sizes;
  for (const uint64_t unit : log.units) sizes.Add(unit);
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (size_t i = 0; i < log.rewards.size(); ++i) {
    const JudgedDecision judged = {.log_weight = log.log_weights[i]};
    sums.Add(log.units[i], sizes.ShareOf(log.units[i]), log.rewards[i],
             {&judged, 1});
  }
  return BestInterval(
             {.sums = &sums,
              .of = IntervalTask::Of::kValue,
              .estimator = {EstimatorKind::kControlledIps},
              .largest_group = sizes.LargestGroup(GroupSums::kDefaultGroups)})
      .interval;
}

struct ArmResult {
  double coverage = 0;
  double width = 0;
};

ArmResult Measure(const ArmCase& arm_case, const VerdictOptions& options) {
  std::vector<Interval> intervals(static_cast<size_t>(options.runs));
  const absl::Status status =
      RunInParallel(intervals.size(), options.threads, [&](size_t run) {
        intervals[run] = ValueIn(DrawArmLog(arm_case, run + 1));
        return absl::OkStatus();
      });
  ArmResult result;
  for (const Interval& interval : intervals) {
    result.coverage += interval.lower <= kTruth && kTruth <= interval.upper;
    result.width += interval.upper - interval.lower;
  }
  const auto runs = static_cast<double>(intervals.size());
  return {status.ok() ? result.coverage / runs : NAN, result.width / runs};
}

}  // namespace

std::vector<Target> MeasureArms(const VerdictOptions& options) {
  std::vector<Target> targets;
  std::puts("\nTraffic split by unit: value of the uniform policy, truth 0.5");
  std::puts("returns   arms       coverage   width");
  for (const double rate : {0.8, 0.9, 1.0, 1.1, 1.2}) {
    for (const char* const arms : {"auto", "balanced"}) {
      const ArmResult result =
          Measure({.return_rate = rate, .arms = arms}, options);
      absl::PrintF("%7.1f   %-8s   %8.3f   %.4f\n", rate, arms, result.coverage,
                   result.width);
      if (arms == std::string("balanced")) continue;
      targets.push_back(
          {absl::StrFormat("coverage of --arms=auto, units of one version "
                           "return %.1f times as often",
                           rate),
           result.coverage, 0.94, true});
    }
  }
  const ArmResult alone = Measure({.has_units = false}, options);
  const ArmResult balanced =
      Measure({.has_units = false, .arms = "balanced"}, options);
  absl::PrintF("by decision: auto %.3f, width %.4f; balanced %.4f\n",
               alone.coverage, alone.width, balanced.width);
  targets.push_back(
      {absl::StrCat("coverage of --arms=", "auto, an arm for each decision"),
       alone.coverage, 0.94, true});
  targets.push_back({absl::StrCat("its width over that of --arms=", "balanced"),
                     alone.width / balanced.width, 1.1, false});
  return targets;
}

}  // namespace sortition
