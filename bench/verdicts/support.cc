// Part `support`: logs with little support for a policy. Measures false passes
// of guardrails, coverage of rows by rank, and power of guardrails with full
// support.
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/rankings/ranking_intervals.h"
#include "io/models/look_ledger.h"
#include "trainer/offpolicy/guardrails.h"

namespace sortition {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kAllowed = 0.01;
constexpr double kHonestAllowed = 0.004;
constexpr double kComplaints = 0.03;  // Rate for other actions.
constexpr uint64_t kTuples = 20000;

// Confidence of the first look of a gate.
double GateConfidence() { return 1 - (1 - kConfidence) * ShareOfLook(1); }

// Of two actions in each context, the policy takes the first for certain in
// `share` of the contexts, where the log takes it with `propensity` and
// `complaints` of the users complain. Elsewhere it takes with probability 0.9
// what the log takes with 0.1, which changes nothing but the noise of weights.
// If the setting is quiet, it does there what the log does, and users complain
// of nothing else.
struct RareSetting {
  double share;
  double propensity;
  double complaints;
  bool is_quiet = false;

  double rise() const { return share * (1 - propensity) * complaints; }
};
constexpr RareSetting kRareSettings[] = {
    {0.04, 5e-4, 0.85},        {0.1, 2e-4, 0.2},   {0.02, 5e-4, 0.9},
    {0.04, 5e-3, 0.5},         {0.04, 0.02, 0.35}, {0.05, 0.1, 0.235},
    {0.04, 0.015, 0.256, true}};

struct GuardedLog {
  WeightedTuples test;
  std::vector<MissingMass> missing;
  GuardedReward complaints = {
      .name = "complaints", .allowed = kAllowed, .min = -1, .max = 0};

  void Add(uint64_t unit, double log_weight, bool complains,
           const MissingMass& mass) {
    test.rewards.push_back(0);
    test.log_weights.push_back(log_weight);
    test.units.push_back(unit);
    complaints.of_test.push_back(complains ? -1 : 0);
    missing.push_back(mass);
  }
  bool Holds(bool is_known) const {
    const std::vector<MissingMass> nothing;
    return JudgeGuardrails({complaints},
                           {.test = test,
                            .missing = is_known ? missing : nothing,
                            .confidence = GateConfidence()})[0]
        .holds();
  }
};

GuardedLog DrawRareLog(const RareSetting& setting, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  constexpr double kCommon[2] = {0.1, 0.9};
  constexpr double kWanted[2] = {0.9, 0.1};
  const double logged[2] = {setting.propensity, 1 - setting.propensity};
  constexpr double kAlways[2] = {1, 0};
  const MissingMass rare = MissingMassOf(kAlways, logged);
  const auto& elsewhere = setting.is_quiet ? kCommon : kWanted;
  const MissingMass common = MissingMassOf(elsewhere, kCommon);
  const double complaints = setting.is_quiet ? 0 : kComplaints;
  GuardedLog log;
  for (uint64_t i = 0; i < kTuples; ++i) {
    const uint64_t unit = SeedKey(seed * 100003 + i).low;
    if (random.Uniform() >= setting.share) {
      const size_t action = random.Uniform() < kCommon[0] ? 0 : 1;
      log.Add(unit, std::log(elsewhere[action] / kCommon[action]),
              random.Uniform() < complaints, common);
      continue;
    }
    const bool is_taken = random.Uniform() < setting.propensity;
    const double chance =
        is_taken ? complaints + setting.complaints : complaints;
    log.Add(unit,
            is_taken ? -std::log(setting.propensity)
                     : -std::numeric_limits<double>::infinity(),
            random.Uniform() < chance, rare);
  }
  return log;
}

constexpr double kLogging[4] = {0.1, 0.2, 0.3, 0.4};
constexpr double kTarget[4] = {0.4, 0.3, 0.2, 0.1};

// Weights up to 4, and complaints that do not depend on the action.
GuardedLog DrawHonestLog(uint64_t tuples, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  const MissingMass missing = MissingMassOf(kTarget, kLogging);
  GuardedLog log;
  log.complaints.allowed = kHonestAllowed;
  for (uint64_t i = 0; i < tuples; ++i) {
    double left = random.Uniform();
    size_t action = 0;
    while (action < 3 && left >= kLogging[action]) left -= kLogging[action++];
    log.Add(SeedKey(seed * 100003 + i).low,
            std::log(kTarget[action] / kLogging[action]),
            random.Uniform() < kComplaints, missing);
  }
  return log;
}

// Returns true if the guardrail held by the former rule, which did not compute
// support: an interval of the estimate with control variate, which assumes full
// support, if that is nearly normal, otherwise bets. Student's interval stands
// in for the former likelihood interval, which was as wide.
bool HeldBefore(const GuardedLog& log) {
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (size_t i = 0; i < log.test.size(); ++i) {
    const JudgedDecision judged = {.log_weight = log.test.log_weights[i]};
    sums.Add(log.test.units[i], 1, 1 + log.complaints.of_test[i].value(),
             {&judged, 1});
  }
  IntervalTask task;
  task.sums = &sums;
  task.of = IntervalTask::Of::kGainOverLog;
  task.estimator = {EstimatorKind::kControlledIps};
  task.confidence = GateConfidence();
  const IntervalKind kind = IsNearlyNormal(sums.sums(), RatiosOf(task))
                                ? IntervalKind::kStudent
                                : IntervalKind::kBetting;
  return MakeInterval(task, kind)->interval.lower >= -kHonestAllowed;
}

// Returns the share of runs for which `is_true` holds.
double ShareOf(const VerdictOptions& options,
               const std::function<bool(uint64_t seed)>& is_true) {
  std::vector<char> results(static_cast<size_t>(options.runs));
  const absl::Status status =
      RunInParallel(results.size(), options.threads, [&](size_t run) {
        results[run] = is_true(run + 1) ? 1 : 0;
        return absl::OkStatus();
      });
  CHECK(status.ok());
  double sum = 0;
  for (const char result : results) sum += result;
  return sum / options.runs;
}

void MeasureFalsePasses(const VerdictOptions& options,
                        std::vector<Target>* targets) {
  absl::PrintF(
      "\nGuardrails that hold although complaints rise by more than %g, of "
      "%d tuples\n%9s %10s %10s %8s %8s\n",
      kAllowed, kTuples, "contexts", "propensity", "rise", "known", "unknown");
  for (const RareSetting& setting : kRareSettings) {
    double passed[2] = {};
    for (const bool is_known : {false, true}) {
      passed[is_known ? 1 : 0] = ShareOf(options, [&](uint64_t seed) {
        return DrawRareLog(setting, seed).Holds(is_known);
      });
    }
    absl::PrintF("%8g%% %10g %10.4f %7.1f%% %7.1f%%\n", 100 * setting.share,
                 setting.propensity, setting.rise(), 100 * passed[1],
                 100 * passed[0]);
    std::fflush(stdout);
    targets->push_back(
        {absl::StrFormat("support: false passes, %g %% of contexts, p = %g",
                         100 * setting.share, setting.propensity),
         std::max(passed[0], passed[1]), 0.015});
  }
}

void MeasurePower(const VerdictOptions& options, std::vector<Target>* targets) {
  absl::PrintF(
      "\nGuardrails of %g seen to hold where complaints do not change\n"
      "%9s %8s %8s\n",
      kHonestAllowed, "tuples", "now", "before");
  constexpr uint64_t kHonestTuples[] = {10000, 20000};
  for (const uint64_t tuples : kHonestTuples) {
    const double now = ShareOf(options, [&](uint64_t seed) {
      return DrawHonestLog(tuples, seed).Holds(true);
    });
    const double before = ShareOf(options, [&](uint64_t seed) {
      return HeldBefore(DrawHonestLog(tuples, seed));
    });
    absl::PrintF("%9d %7.1f%% %7.1f%%\n", tuples, 100 * now, 100 * before);
    std::fflush(stdout);
    targets->push_back(
        {absl::StrFormat("support: power against before, %d tuples", tuples),
         before > 0 ? now / before : 1, 0.9, true});
  }
}

// One rank. In `share` of the contexts the policy puts an item first that earns
// 0 and that the log puts there with `propensity`, in place of one that earns
// 0.9. Elsewhere items earn 0.9 and 0.7, the log tosses a coin, and the policy
// takes the first.
struct RankSetting {
  double share;
  double propensity;

  double gain() const {
    return (1 - share) * 0.1 - share * (1 - propensity) * 0.9;
  }
};
constexpr RankSetting kRankSettings[] = {
    {0.12, 2e-4}, {0.12, 2e-3}, {0.12, 0.02}, {0.02, 1e-3}, {0.5, 0.3}};

using RankKind = RankingEstimatorKind;
// That the report can recommend without a model of rewards.
constexpr RankKind kRecommended[] = {
    RankKind::kShownPrefix, RankKind::kSelfNormalisedShownPrefix,
    RankKind::kRewardInteraction, RankKind::kSelfNormalisedRewardInteraction};

RankingSums DrawOrders(const RankSetting& setting, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  auto sums = RankingSums::Create(
      {.value = {{1}, 0}, .policies = {{}}, .num_groups = 2048});
  CHECK(sums.ok());
  for (uint64_t i = 0; i < 2000; ++i) {
    const bool is_rare = random.Uniform() < setting.share;
    const double propensity = is_rare ? setting.propensity : 0.5;
    const bool is_chosen = random.Uniform() < propensity;
    const double chance =
        is_rare ? (is_chosen ? 0 : 0.9) : (is_chosen ? 0.9 : 0.7);
    const double reward = random.Uniform() < chance ? 1 : 0;
    const double logged = std::log(is_chosen ? propensity : 1 - propensity);
    const double judged =
        is_chosen ? 0 : -std::numeric_limits<double>::infinity();
    const JudgedRanking ranking = {.log_conditionals = {&judged, 1}};
    CHECK(sums->Add(SeedKey(seed * 100003 + i).low, 1,
                    {.rewards = {&reward, 1}, .log_conditionals = {&logged, 1}},
                    {&ranking, 1})
              .ok());
  }
  return *std::move(sums);
}

void MeasureRanks(const VerdictOptions& options, std::vector<Target>* targets) {
  absl::PrintF(
      "\nRows by rank that hold the gain, of 2000 decisions\n"
      "%9s %10s %10s %8s\n",
      "contexts", "propensity", "gain", "lowest");
  for (const RankSetting& setting : kRankSettings) {
    double lowest = 1;
    for (const RankKind kind : kRecommended) {
      lowest = std::min(
          lowest, ShareOf(options, [&](uint64_t seed) {
            const RankingSums sums = DrawOrders(setting, seed);
            const Interval gain =
                BestRankingInterval({.sums = &sums,
                                     .estimator = kind,
                                     .of = IntervalTask::Of::kGainOverLog,
                                     .confidence = kConfidence})
                    ->interval;
            return gain.lower <= setting.gain() && setting.gain() <= gain.upper;
          }));
    }
    absl::PrintF("%8g%% %10g %10.4f %7.1f%%\n", 100 * setting.share,
                 setting.propensity, setting.gain(), 100 * lowest);
    std::fflush(stdout);
    targets->push_back(
        {absl::StrFormat("support: rows by rank, %g %% of contexts, p = %g",
                         100 * setting.share, setting.propensity),
         lowest, 0.94, true});
  }
}

}  // namespace

std::vector<Target> MeasureSupport(const VerdictOptions& options) {
  std::vector<Target> targets;
  MeasureFalsePasses(options, &targets);
  MeasurePower(options, &targets);
  MeasureRanks(options, &targets);
  return targets;
}

}  // namespace sortition
