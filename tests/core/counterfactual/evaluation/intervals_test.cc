#include "core/counterfactual/evaluation/intervals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/confidence/clopper_pearson.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/evaluation/mean_interval.h"
#include "core/counterfactual/evaluation/planning.h"
#include "core/counterfactual/evaluation/support.h"
#include "core/counterfactual/moments.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/option.pb.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

// Logs of the toy, and what is asked of their intervals.

// The toy's policy, and the uniform one, whose value is 0.55.
constexpr double kUniformValue = 0.55;

JudgedDecision JudgeUniform(size_t action) {
  return {.log_weight = std::log(0.25 / kLogging[action])};
}

// With what the log can hardly judge of it.
JudgedDecision Known(JudgedDecision judged, std::span<const double> target) {
  judged.missing = MissingMassOf(target, kLogging);
  return judged;
}
constexpr double kUniform[kActions] = {0.25, 0.25, 0.25, 0.25};

// Units of `size` decisions of the toy.
PolicySums ToyLog(size_t num_units, int size, uint64_t seed,
                  size_t num_groups = 512, bool is_known = false) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(2, num_groups);
  for (uint64_t unit = 0; unit < num_units; ++unit) {
    for (int i = 0; i < size; ++i) {
      const size_t action = DrawAction(&random);
      const double reward = random.Uniform() < kReward[action] ? 1 : 0;
      JudgedDecision policies[2] = {Judge(action), JudgeUniform(action)};
      if (is_known) {
        policies[0] = Known(policies[0], kNew);
        policies[1] = Known(policies[1], kUniform);
      }
      sums.Add(Unit(unit), 1, reward, policies);
    }
  }
  return sums;
}

// Uniform logging; the policy always takes the best action: weights 0 and 4.
PolicySums DeterministicLog(size_t num_decisions, uint64_t seed,
                            double click = 1, bool is_known = false) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < num_decisions; ++i) {
    const size_t action = random.Below(kActions);
    const double reward = random.Uniform() < click * kReward[action] ? 1 : 0;
    JudgedDecision decision = {
        .log_weight = action == 3 ? std::log(4)
                                  : -std::numeric_limits<double>::infinity()};
    constexpr double kBest[kActions] = {0, 0, 0, 1};
    if (is_known) decision.missing = MissingMassOf(kBest, kUniform);
    sums.Add(Unit(i), 1, reward, {&decision, 1});
  }
  return sums;
}

IntervalTask TaskOf(const PolicySums& sums, IntervalTask::Of of,
                    EstimatorKind kind = EstimatorKind::kIps) {
  IntervalTask task;
  task.sums = &sums;
  task.of = of;
  task.other = 1;
  task.estimator = {kind};
  task.seed = 1;
  return task;
}

using Of = IntervalTask::Of;

double TruthOf(Of of) {
  switch (of) {
    case Of::kValue:
      return kNewValue;
    case Of::kGainOverLog:
      return kNewValue - kLoggedValue;
    case Of::kGainOverPolicy:
      return kNewValue - kUniformValue;
    case Of::kLogged:
      return kLoggedValue;
  }
  return 0;
}

constexpr Of kAllOf[] = {Of::kValue, Of::kGainOverLog, Of::kGainOverPolicy,
                         Of::kLogged};

TEST(IntervalsTest, KeysAreThoseOfTheOption) {
  std::string help = config::v1::OpeOptions::descriptor()
                         ->FindFieldByName("interval")
                         ->options()
                         .GetExtension(config::v1::info)
                         .help();
  for (const IntervalKind kind : AllIntervalKinds()) {
    const std::string key = IntervalKey(kind);
    EXPECT_NE(help.find(key), std::string::npos) << key;
    EXPECT_EQ(IntervalOfKey(key), kind);
    EXPECT_FALSE(IntervalName(kind).empty());
    EXPECT_FALSE(AssumptionOf(kind).empty());
    EXPECT_EQ(HoldsForEverySize(kind), kind == IntervalKind::kClopperPearson ||
                                           kind == IntervalKind::kBernstein ||
                                           kind == IntervalKind::kBetting);
  }
  EXPECT_FALSE(IntervalOfKey("auto").has_value());
  // And auto, nothing else.
  EXPECT_EQ(std::count(help.begin(), help.end(), ','), 6);
}

TEST(IntervalsTest, StudentIsTheTextbooks) {
  PolicySums sums(1, 64);
  const double rewards[] = {0.1, 0.4, 0.2, 0.8, 0.5, 0.7};
  for (uint64_t i = 0; i < 6; ++i) {
    const JudgedDecision decision;
    sums.Add(i, 1, rewards[i], {&decision, 1});
  }
  const auto student =
      MakeInterval(TaskOf(sums, Of::kLogged), IntervalKind::kStudent);
  ASSERT_TRUE(student.has_value());
  // Sample variance 0.075 over 6; the quantile of five degrees of freedom.
  EXPECT_NEAR(student->standard_error, std::sqrt(0.0125), 1e-12);
  EXPECT_NEAR(student->interval.value, 0.45, 1e-12);
  EXPECT_NEAR(student->interval.upper, 0.45 + 2.570582 * std::sqrt(0.0125),
              1e-6);
  EXPECT_NEAR(student->interval.lower, 0.45 - 2.570582 * std::sqrt(0.0125),
              1e-6);
}

TEST(IntervalsTest, ClopperPearsonIsThatOfTheBinomialDistribution) {
  PolicySums sums = DeterministicLog(500, 1);
  IntervalTask task = TaskOf(sums, Of::kValue);
  const IntervalKind kind = IntervalKind::kClopperPearson;
  EXPECT_FALSE(MakeInterval(task, kind).has_value());
  task.units_are_decisions = true;
  const auto interval = MakeInterval(task, kind);
  ASSERT_TRUE(interval.has_value());
  const uint64_t wins =
      static_cast<uint64_t>(std::lround(interval->interval.value * 500 / 4));
  const Interval binomial = ClopperPearsonInterval(wins, 500, 0.95);
  EXPECT_DOUBLE_EQ(interval->interval.lower, 4 * binomial.lower);
  // What it lost, too, since nobody said that the log could choose everything.
  const uint64_t tries = static_cast<uint64_t>(std::lround(
      ApplyToTotals(sums.MeanWeight(0).numerator, sums.sums()) / 4));
  EXPECT_DOUBLE_EQ(
      interval->interval.upper,
      1 - 4 * ClopperPearsonInterval(tries - wins, 500, 0.95).lower);
  const PolicySums known = DeterministicLog(500, 1, 1, true);
  task.sums = &known;
  EXPECT_DOUBLE_EQ(MakeInterval(task, kind)->interval.upper,
                   std::fmin(1, 4 * binomial.upper));
  task.of = Of::kGainOverLog;
  EXPECT_FALSE(MakeInterval(task, kind).has_value());
  // Weights of several sizes.
  const PolicySums toy = ToyLog(100, 1, 1);
  task = TaskOf(toy, Of::kValue);
  task.units_are_decisions = true;
  EXPECT_FALSE(MakeInterval(task, kind).has_value());
  task.of = Of::kLogged;
  EXPECT_TRUE(MakeInterval(task, kind).has_value());
  // A reward between 0 and 1, or a decision that counts half.
  const JudgedDecision decision = {.log_weight = std::log(4)};
  for (const double share : {1.0, 0.5}) {
    PolicySums other = DeterministicLog(500, 1);
    other.Add(1, share, share == 1 ? 0.5 : 1, {&decision, 1});
    task = TaskOf(other, Of::kLogged);
    task.units_are_decisions = true;
    EXPECT_FALSE(MakeInterval(task, kind).has_value());
  }
}

// Straight from the decisions.
TEST(IntervalsTest, BernsteinIsThatOfTheBestClip) {
  constexpr size_t kDecisions = 3000;
  RandomSequence random(SeedKey(2));
  PolicySums sums(1, 256);
  Moments reward[kNumParameters];
  Moments regret[kNumParameters];
  Moments gain[kNumParameters];
  Moments lost[kNumParameters];
  for (uint64_t i = 0; i < kDecisions; ++i) {
    const double r = random.Uniform();
    const JudgedDecision decision = {.log_weight = random.Normal() - 0.5};
    sums.Add(i, 1, r, {&decision, 1});
    for (size_t k = 0; k < kNumParameters; ++k) {
      const double w = std::fmin(std::exp(decision.log_weight), kClips[k]);
      reward[k].Add(w * r);
      regret[k].Add(w * (1 - r));
      gain[k].Add(w * r - r);
      lost[k].Add((w - 1) * (1 - r));
    }
  }
  const auto bound = [](const Moments(&moments)[kNumParameters]) {
    double best = -1e9;
    for (size_t k = 0; k < kNumParameters; ++k) {
      best = std::fmax(
          best, moments[k].mean() -
                    EmpiricalBernsteinSlack(moments[k], kClips[k], 0.025 / 8));
    }
    return best;
  };
  IntervalTask task = TaskOf(sums, Of::kValue);
  EXPECT_FALSE(MakeInterval(task, IntervalKind::kBernstein).has_value());
  task.units_are_decisions = true;
  const auto value = MakeInterval(task, IntervalKind::kBernstein);
  ASSERT_TRUE(value.has_value());
  EXPECT_NEAR(value->interval.lower, bound(reward), 1e-12);
  EXPECT_NEAR(value->interval.upper, 1 - bound(regret), 1e-12);
  task.of = Of::kGainOverLog;
  const auto over_log = MakeInterval(task, IntervalKind::kBernstein);
  ASSERT_TRUE(over_log.has_value());
  EXPECT_NEAR(over_log->interval.lower, bound(gain), 1e-12);
  EXPECT_NEAR(over_log->interval.upper, -bound(lost), 1e-12);
}

// The gate's numbers, from sums, where no group has two units: the gate has a
// round for each.
TEST(IntervalsTest, BettingOnTheGainIsTheGates) {
  RandomSequence random(SeedKey(3));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  std::vector<double> rewards;
  std::vector<double> log_weights;
  std::vector<uint64_t> units;
  for (uint64_t i = 0; i < 2000; ++i) {
    const size_t action = DrawAction(&random);
    rewards.push_back(random.Uniform() < kReward[action] ? 1 : 0);
    const JudgedDecision decision = Judge(action);
    log_weights.push_back(decision.log_weight);
    // Units with a group each.
    units.push_back(i / 3);
    sums.Add(units.back(), 1, rewards.back(), {&decision, 1});
  }
  const Interval gate =
      EstimateImprovement({rewards, log_weights, units, 3}, 0.95);
  const auto interval =
      MakeInterval(TaskOf(sums, Of::kGainOverLog), IntervalKind::kBetting);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->interval.value, gate.value, 1e-12);
  EXPECT_NEAR(interval->interval.lower, gate.lower, 1e-9);
  EXPECT_NEAR(interval->interval.upper, gate.upper, 1e-9);
}

// A policy that does what the log did is the log.
TEST(IntervalsTest, BettingOnTheGainOverTheLogsPolicyIsThatOverTheLog) {
  RandomSequence random(SeedKey(4));
  PolicySums sums(2, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < 1000; ++i) {
    const size_t action = DrawAction(&random);
    const JudgedDecision policies[2] = {Judge(action), JudgedDecision()};
    sums.Add(Unit(i), 1, random.Uniform(), policies);
  }
  const auto over_log =
      MakeInterval(TaskOf(sums, Of::kGainOverLog), IntervalKind::kBetting);
  const auto over_policy =
      MakeInterval(TaskOf(sums, Of::kGainOverPolicy), IntervalKind::kBetting);
  ASSERT_TRUE(over_log && over_policy);
  EXPECT_NEAR(over_policy->interval.lower, over_log->interval.lower, 1e-9);
  EXPECT_NEAR(over_policy->interval.upper, over_log->interval.upper, 1e-9);
}

// Units of five decisions, and decisions alone.
TEST(IntervalsTest, CoverAsOftenAsTheySay) {
  constexpr int kLogs = 120;
  for (const int size : {1, 5}) {
    for (const Of of : kAllOf) {
      int covered[7] = {};
      int applied[7] = {};
      int best = 0;
      for (uint64_t log = 0; log < kLogs; ++log) {
        const PolicySums sums = ToyLog(300, size, 1000 + log);
        IntervalTask task = TaskOf(sums, of, EstimatorKind::kSelfNormalised);
        task.units_are_decisions = size == 1;
        const auto covers = [&](const JudgedInterval& judged) {
          return judged.interval.lower <= TruthOf(of) &&
                 TruthOf(of) <= judged.interval.upper;
        };
        for (size_t k = 0; k < 7; ++k) {
          const auto interval = MakeInterval(task, AllIntervalKinds()[k]);
          applied[k] += interval.has_value() ? 1 : 0;
          covered[k] += interval.has_value() && covers(*interval) ? 1 : 0;
        }
        best += covers(BestInterval(task)) ? 1 : 0;
      }
      // Four standard errors below 95 %.
      const double slack = 4 * std::sqrt(0.95 * 0.05 / kLogs);
      for (size_t k = 0; k < 7; ++k) {
        EXPECT_GE(covered[k], applied[k] * (0.95 - slack))
            << IntervalKey(AllIntervalKinds()[k]) << " of "
            << static_cast<int>(of) << " with units of " << size;
      }
      EXPECT_GE(best, kLogs * (0.95 - slack)) << static_cast<int>(of);
      const bool by_decision = size == 1;
      EXPECT_EQ(applied[4], by_decision && of == Of::kLogged ? kLogs : 0);
      EXPECT_EQ(applied[5], by_decision ? kLogs : 0);
      EXPECT_EQ(applied[6], kLogs);
    }
  }
}

// 6 is the largest weight of the toy, 2.5 that of the uniform policy.
TEST(IntervalsTest, AKnownLimitOfWeightsNarrowsBets) {
  constexpr int kLogs = 60;
  for (const Of of : {Of::kValue, Of::kGainOverLog, Of::kGainOverPolicy}) {
    int covered = 0;
    double width = 0;
    double plain_width = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      const PolicySums unknown = ToyLog(2000, 1, 3000 + log, 8192);
      const PolicySums known = ToyLog(2000, 1, 3000 + log, 8192, true);
      IntervalTask task = TaskOf(unknown, of);
      const Interval plain =
          MakeInterval(task, IntervalKind::kBetting)->interval;
      task.sums = &known;
      const Interval interval =
          MakeInterval(task, IntervalKind::kBetting)->interval;
      covered += interval.lower <= TruthOf(of) && TruthOf(of) <= interval.upper;
      width += interval.upper - interval.lower;
      plain_width += plain.upper - plain.lower;
    }
    EXPECT_GE(covered, FewestOf(kLogs, 0.95));
    // Of 2,000 units some share a group, which limits bets.
    EXPECT_LT(width, 0.9 * plain_width) << static_cast<int>(of);
  }
}

// An action with propensity 0.001 allows weights so large that bets cannot use
// them: the interval stays the same.
TEST(IntervalsTest, AnEnormousLimitOfWeightsIsNone) {
  constexpr double kHardly[kActions] = {0.001, 0.333, 0.333, 0.333};
  constexpr double kAlways[kActions] = {1, 0, 0, 0};
  PolicySums plain(1, 512);
  PolicySums known(1, 512);
  RandomSequence random(SeedKey(9));
  for (uint64_t i = 0; i < 500; ++i) {
    JudgedDecision decision = {
        .log_weight = random.Uniform() < 0.001
                          ? std::log(1000)
                          : -std::numeric_limits<double>::infinity()};
    const double reward = random.Uniform();
    plain.Add(Unit(i), 1, reward, {&decision, 1});
    decision.missing = MissingMassOf(kAlways, kHardly);
    known.Add(Unit(i), 1, reward, {&decision, 1});
  }
  EXPECT_NEAR(known.LargestWeight(0), 1000, 1e-9);
  const IntervalKind kind = IntervalKind::kBetting;
  const Interval without =
      MakeInterval(TaskOf(plain, Of::kValue), kind)->interval;
  const Interval with = MakeInterval(TaskOf(known, Of::kValue), kind)->interval;
  EXPECT_EQ(with.lower, without.lower);
  EXPECT_EQ(with.upper, without.upper);
}

TEST(IntervalsTest, NothingIsKnownOfAnEmptyLog) {
  const PolicySums sums(2, 64);
  for (const Of of : kAllOf) {
    for (const EstimatorKind kind : AllEstimatorKinds()) {
      IntervalTask task = TaskOf(sums, of, kind);
      const std::vector<double> parameters = ParametersOf(kind);
      if (!parameters.empty()) task.estimator.parameter = parameters[0];
      task.units_are_decisions = true;
      const JudgedInterval best = BestInterval(task);
      EXPECT_EQ(best.interval.upper, 1);
      EXPECT_EQ(best.interval.lower,
                of == Of::kValue || of == Of::kLogged ? 0 : -1);
      EXPECT_EQ(best.standard_error, std::numeric_limits<double>::infinity());
      for (const IntervalKind interval : AllIntervalKinds()) {
        EXPECT_EQ(MakeInterval(task, interval).has_value(),
                  interval == IntervalKind::kBetting);
      }
    }
  }
}

// Which interval is shown, and that it holds where the log is not as it should.

using Of = IntervalTask::Of;

TEST(BestIntervalTest, TheBestIsTheTightestThatIsValid) {
  const PolicySums many = ToyLog(3000, 1, 5);
  EXPECT_EQ(BestInterval(TaskOf(many, Of::kValue)).kind,
            IntervalKind::kEmpiricalLikelihood);
  // Few units; an estimator with a bias.
  const PolicySums few = ToyLog(20, 50, 5);
  EXPECT_EQ(BestInterval(TaskOf(few, Of::kValue)).kind, IntervalKind::kBetting);
  IntervalTask biased = TaskOf(many, Of::kValue, EstimatorKind::kClipped);
  biased.estimator.parameter = 2;
  EXPECT_EQ(BestInterval(biased).kind, IntervalKind::kEmpiricalLikelihood);
  // Which has none if it cuts nothing.
  biased.estimator.parameter = 10;
  EXPECT_EQ(BestInterval(biased).kind, IntervalKind::kEmpiricalLikelihood);
  // One weight: exact for IPS; the self-normalised may be better.
  const PolicySums deterministic = DeterministicLog(6000, 6);
  IntervalTask single = TaskOf(deterministic, Of::kValue);
  single.units_are_decisions = true;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kEmpiricalLikelihood);
  const PolicySums known = DeterministicLog(6000, 6, 1, true);
  single.sums = &known;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kClopperPearson);
  single.estimator.kind = EstimatorKind::kSelfNormalised;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kEmpiricalLikelihood);
  // Some twenty clicks.
  const PolicySums rare = DeterministicLog(2000, 6, 0.02);
  single.sums = &rare;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kClopperPearson);
  single.of = Of::kGainOverLog;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kBoundedLikelihood);
}

// Half of what the policy does was never logged: it may earn anything.
TEST(BestIntervalTest, MissingSupportWidensTheInterval) {
  RandomSequence random(SeedKey(7));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < 3000; ++i) {
    const JudgedDecision decision = {.log_weight = std::log(0.5)};
    sums.Add(Unit(i), 1, random.Uniform() < 0.6 ? 1 : 0, {&decision, 1});
  }
  for (const EstimatorKind kind :
       {EstimatorKind::kIps, EstimatorKind::kSelfNormalised}) {
    const JudgedInterval best = BestInterval(TaskOf(sums, Of::kValue, kind));
    EXPECT_LT(best.interval.lower, 0.3);
    EXPECT_GT(best.interval.upper, 0.8);
  }
}

// The log tries five of ten actions, and the policy one of these in three of
// five decisions, else an action that nobody has tried and that always wins.
// Rewards of the first are 0.3: v = 0.6 · 0.3 + 0.4.
PolicySums HalfLoggedLog(uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < 1000; ++i) {
    const bool is_tried = random.Uniform() < 0.6 && random.Below(5) == 0;
    const JudgedDecision decision = {
        .log_weight =
            is_tried ? std::log(5) : -std::numeric_limits<double>::infinity()};
    sums.Add(Unit(i), 1, random.Uniform() < 0.3 ? 1 : 0, {&decision, 1});
  }
  return sums;
}

TEST(BestIntervalTest, WhatWasNeverLoggedMayEarnAnything) {
  constexpr int kLogs = 60;
  for (const EstimatorKind kind :
       {EstimatorKind::kIps, EstimatorKind::kSelfNormalised,
        EstimatorKind::kDoublyRobust, EstimatorKind::kClippedDr}) {
    int covered = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      const PolicySums sums = HalfLoggedLog(100 + log);
      IntervalTask task = TaskOf(sums, Of::kValue, kind);
      task.units_are_decisions = true;
      if (kind == EstimatorKind::kClippedDr) task.estimator.parameter = 2;
      const Interval interval = BestInterval(task).interval;
      covered += interval.lower <= 0.58 && 0.58 <= interval.upper ? 1 : 0;
    }
    EXPECT_GE(covered, FewestOf(kLogs, 0.95)) << EstimatorKey(kind);
  }
}

// The log tosses a coin between two actions, and the policy takes a third in
// three of ten decisions. The reward of that action is unknown, so the interval
// covers 0 to 1 for it, whatever the estimator.
TEST(BestIntervalTest, MissingMassIsChargedWithTheWorstReward) {
  constexpr double kLogged[3] = {0.5, 0.5, 0};
  constexpr double kWanted[3] = {0.35, 0.35, 0.3};
  const MissingMass missing = MissingMassOf(kWanted, kLogged);
  for (const bool is_refuted : {false, true}) {
    RandomSequence random(SeedKey(31));
    PolicySums sums(1, GroupSums::kDefaultGroups);
    for (uint64_t i = 0; i < 4000; ++i) {
      JudgedDecision judged = {.log_weight = std::log(0.7)};
      judged.missing = missing;
      judged.is_logging_refuted = is_refuted && i == 17;
      sums.Add(Unit(i), 1, random.Uniform() < 0.5 ? 1 : 0, {&judged, 1});
    }
    EXPECT_EQ(sums.IsSupportKnown(0), !is_refuted);
    for (const EstimatorKind kind :
         {EstimatorKind::kIps, EstimatorKind::kControlledIps,
          EstimatorKind::kSelfNormalised}) {
      const JudgedInterval judged =
          BestInterval(TaskOf(sums, Of::kValue, kind));
      EXPECT_NEAR(judged.missing_mass, 0.3, 1e-9);
      EXPECT_NEAR(judged.interval.lower, 0.35, 0.03);
      EXPECT_NEAR(judged.interval.upper, 0.65, 0.03);
    }
  }
}

// 2 % of 5,000 decisions are clicks. With the probabilities of all actions the
// interval is nearly as narrow as Student's; without them its upper end pays
// for the noise of all weights.
TEST(BestIntervalTest, FewClicksHaveAnUpperEnd) {
  for (const bool is_known : {true, false}) {
    RandomSequence random(SeedKey(41));
    PolicySums sums(1, GroupSums::kDefaultGroups);
    for (uint64_t i = 0; i < 5000; ++i) {
      const size_t action = DrawAction(&random);
      JudgedDecision judged = Judge(action);
      if (is_known) judged.missing = MissingMassOf(kNew, kLogging);
      const double click = 0.03 * kReward[action];
      sums.Add(Unit(i), 1, random.Uniform() < click ? 1 : 0, {&judged, 1});
    }
    IntervalTask task =
        TaskOf(sums, Of::kValue, EstimatorKind::kSelfNormalised);
    task.units_are_decisions = true;
    const Interval student =
        MakeInterval(task, IntervalKind::kStudent)->interval;
    const Interval best = BestInterval(task).interval;
    const double half = (student.upper - student.lower) / 2;
    EXPECT_LT(best.value - best.lower, 2.5 * half);
    if (is_known) {
      EXPECT_LT(best.upper - best.value, 2.5 * half);
    } else {
      EXPECT_GT(best.upper - best.value, 5 * half);
    }
    EXPECT_LT(best.lower, 0.03 * kNewValue);
    EXPECT_GT(best.upper, 0.03 * kNewValue);
  }
}

// Every estimate, also one that is far too low, is in the interval beside it.
TEST(BestIntervalTest, EstimatesAreInTheirIntervals) {
  const PolicySums logs[] = {ToyLog(3000, 1, 5), ToyLog(60, 3, 6),
                             HalfLoggedLog(7)};
  for (const PolicySums& sums : logs) {
    for (const Estimator& estimator : AllEstimators()) {
      for (const Of of : {Of::kValue, Of::kGainOverLog}) {
        IntervalTask task = TaskOf(sums, of);
        task.estimator = estimator;
        task.units_are_decisions = true;
        const JudgedInterval best = BestInterval(task);
        const double value = EstimateRatios(sums.sums(), RatiosOf(task)).value;
        EXPECT_EQ(best.interval.value, value);
        EXPECT_LE(best.interval.lower, value) << EstimatorKey(estimator.kind);
        EXPECT_GE(best.interval.upper, value) << EstimatorKey(estimator.kind);
      }
    }
  }
}

// One context in ten has an action that earns nothing, which the log tries once
// in 5,000 times, and one that earns 0.9. Elsewhere the actions earn 0.9 and
// 0.7, and the log tosses a coin. The policy takes the first action: its gain
// is 0.9 · 0.1 - 0.1 · 0.9 = 0. Logs of 500 decisions have hardly ever seen
// what it loses.
TEST(BestIntervalTest, WhatTheLogHardlyEverTriedDoesNotPass) {
  constexpr int kLogs = 200;
  const double none = -std::numeric_limits<double>::infinity();
  for (const EstimatorKind kind :
       {EstimatorKind::kSelfNormalised, EstimatorKind::kSelfNormalisedDr}) {
    int passed = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      RandomSequence random(SeedKey(9000 + log));
      PolicySums sums(1, GroupSums::kDefaultGroups);
      for (uint64_t i = 0; i < 500; ++i) {
        const bool is_rare = random.Uniform() < 0.1;
        const double propensity = is_rare ? 2e-4 : 0.5;
        const bool is_chosen = random.Uniform() < propensity;
        const double chance =
            is_rare ? (is_chosen ? 0 : 0.9) : (is_chosen ? 0.9 : 0.7);
        const JudgedDecision decision = {
            .log_weight = is_chosen ? -std::log(propensity) : none};
        sums.Add(Unit(i), 1, random.Uniform() < chance ? 1 : 0, {&decision, 1});
      }
      IntervalTask task = TaskOf(sums, Of::kGainOverLog, kind);
      task.units_are_decisions = true;
      passed += BestInterval(task).interval.lower > 0 ? 1 : 0;
    }
    EXPECT_LE(passed, kLogs * 0.025 + 4 * std::sqrt(kLogs * 0.025));
  }
}

// In 4 % of the contexts the policy always takes an action that the log takes
// with 1.5 %. 800 decisions have such a context, 12 of them the action, and
// none a complaint. Elsewhere the policy does what the log does. If the rise is
// what makes this as probable as a side may fail, the log has not seen it.
TEST(BestIntervalTest, NoComplaintAmongFewLargeWeightsIsNoProof) {
  constexpr uint64_t kDecisions = 20000;
  constexpr double kLogged[2] = {0.015, 0.985};
  constexpr double kAlways[2] = {1, 0};
  constexpr double kEven[2] = {0.5, 0.5};
  const double none = -std::numeric_limits<double>::infinity();
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < kDecisions; ++i) {
    const bool is_rare = i % 25 == 0;
    JudgedDecision judged;
    if (is_rare) judged.log_weight = i % 1650 == 0 ? -std::log(0.015) : none;
    judged.missing =
        is_rare ? MissingMassOf(kAlways, kLogged) : MissingMassOf(kEven, kEven);
    sums.Add(Unit(i), 1, 1, {&judged, 1});
  }
  IntervalTask task =
      TaskOf(sums, Of::kGainOverLog, EstimatorKind::kControlledIps);
  task.confidence = 0.97;
  task.units_are_decisions = true;
  const JudgedInterval best = BestInterval(task);
  EXPECT_EQ(best.kind, IntervalKind::kBoundedLikelihood);
  const double surely = -std::log(0.015) / (kDecisions * 0.015);
  EXPECT_LT(best.interval.lower, -0.95 * surely);
  EXPECT_GT(best.interval.lower, -1.05 * surely);
}

// The smallest and the largest terms of single decisions, of which some miss
// half of the policy.
TEST(SidesTest, NoTermIsSmallerThanTheSmallestPossibleOne) {
  constexpr double kLogged[3] = {0.25, 0.75, 0};
  constexpr double kHalfMissing[3] = {0.5, 0, 0.5};
  constexpr double kOther[3] = {0.1, 0.4, 0.5};
  const MissingMass missing[2] = {MissingMassOf(kHalfMissing, kLogged),
                                  MissingMassOf(kOther, kLogged)};
  RandomSequence random(SeedKey(51));
  PolicySums sums(2, 512);
  for (uint64_t i = 0; i < 400; ++i) {
    const size_t action = random.Uniform() < 0.25 ? 0 : 1;
    JudgedDecision policies[2];
    const double* const targets[2] = {kHalfMissing, kOther};
    for (size_t k = 0; k < 2; ++k) {
      policies[k] = {.log_weight =
                         std::log(targets[k][action] / kLogged[action])};
      policies[k].missing = missing[k];
    }
    sums.Add(i, 1, random.Uniform() < 0.6 ? 1 : 0, policies);
  }
  for (const Of of : {Of::kValue, Of::kGainOverLog, Of::kGainOverPolicy}) {
    for (const size_t policy : {size_t{0}, size_t{1}}) {
      IntervalTask task = TaskOf(sums, of);
      task.policy = policy;
      task.other = 1 - policy;
      const Sides sides = SidesOf(task);
      EXPECT_GT(sides.missing_mass, 0.2);
      for (size_t g = 0; g < sums.sums().num_groups(); ++g) {
        if (!sums.sums().is_used(g)) continue;
        // A group is one decision.
        for (const Side* const side : {&sides.above, &sides.below}) {
          EXPECT_GE(Apply(side->mean.numerator, sums.sums().group(g)),
                    side->least_term - 1e-12)
              << static_cast<int>(of);
        }
      }
    }
  }
}

// It says where the value is, as that of an unbiased estimate does.
TEST(BestIntervalTest, ABiasedEstimateHasTheIntervalOfTheValue) {
  const PolicySums sums = ToyLog(3000, 1, 5);
  const Interval unbiased =
      BestInterval(TaskOf(sums, Of::kValue, EstimatorKind::kSelfNormalised))
          .interval;
  IntervalTask task = TaskOf(sums, Of::kValue, EstimatorKind::kClipped);
  // A bias of 0.6 · 0.9 · (1 - 5 / 6) = 0.09, and one of 0.36.
  for (const double clip : {5, 2}) {
    task.estimator.parameter = clip;
    const Interval interval = BestInterval(task).interval;
    EXPECT_EQ(interval.upper, unbiased.upper);
    EXPECT_EQ(interval.lower, std::fmin(interval.value, unbiased.lower));
  }
}

// Half of the propensity: the policy would earn 0.8 and lose 1.2.
TEST(BestIntervalTest, WrongPropensitiesContradictThemselves) {
  RandomSequence random(SeedKey(8));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  PolicySums right(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < 3000; ++i) {
    const bool is_chosen = random.Uniform() < 0.5;
    const double reward = random.Uniform() < 0.4 ? 1 : 0;
    const double none = -std::numeric_limits<double>::infinity();
    const JudgedDecision wrong = {.log_weight = is_chosen ? std::log(4) : none};
    const JudgedDecision decision = {.log_weight =
                                         is_chosen ? std::log(2) : none};
    sums.Add(Unit(i), 1, reward, {&wrong, 1});
    right.Add(Unit(i), 1, reward, {&decision, 1});
  }
  for (const Of of : {Of::kValue, Of::kGainOverLog}) {
    const JudgedInterval best = BestInterval(TaskOf(sums, of));
    EXPECT_TRUE(best.contradicts_itself);
    EXPECT_EQ(best.interval.lower, of == Of::kValue ? 0 : -1);
    EXPECT_EQ(best.interval.upper, 1);
    EXPECT_FALSE(MakeInterval(TaskOf(right, of), IntervalKind::kBetting)
                     ->contradicts_itself);
  }
}

// Intervals of means of anything over decisions.

// Units of up to three decisions with a common part; each decision's number is
// in [-limit, limit], of mean `mean`.
GroupSums DrawUnits(uint64_t seed, int num_units, double mean, double limit) {
  RandomSequence random(SeedKey(seed));
  GroupSums sums(1024, 2);
  for (int unit = 0; unit < num_units; ++unit) {
    const double common = random.Uniform() - 0.5;
    const uint64_t size = 1 + random.Below(3);
    for (uint64_t i = 0; i < size; ++i) {
      const auto group = sums.GroupOf(SeedKey(seed + 1000 * unit).low);
      group[0] += mean + 0.5 * limit * (common + random.Uniform() - 0.5);
      group[1] += 1;
    }
  }
  return sums;
}

MeanTask TaskOf(const GroupSums& sums, double limit) {
  MeanTask task;
  task.sums = &sums;
  task.mean.numerator = {SumTerm{0, 1}};
  task.mean.denominator = {SumTerm{1, 1}};
  task.limit = limit;
  return task;
}

// Of 200 intervals of 95 %, 10 miss on average; more than 20 with probability
// below 0.002 if they cover as they say (fixed seeds).
TEST(MeanIntervalTest, CoversTheMean) {
  constexpr double kTrueMean = 0.05;
  for (const int num_units : {30, 2000}) {
    int missed = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const GroupSums sums = DrawUnits(seed, num_units, kTrueMean, 1);
      const JudgedInterval judged = MeanInterval(TaskOf(sums, 1));
      EXPECT_EQ(judged.kind, num_units == 30
                                 ? IntervalKind::kBetting
                                 : IntervalKind::kEmpiricalLikelihood);
      if (kTrueMean < judged.interval.lower ||
          kTrueMean > judged.interval.upper) {
        ++missed;
      }
    }
    EXPECT_LE(missed, 20) << num_units;
  }
}

// In other units of the reward everything is so many times as large; with the
// other sign it is the other way round.
TEST(MeanIntervalTest, FollowsTheUnitsAndTheSign) {
  for (const int num_units : {20, 500}) {
    const GroupSums sums = DrawUnits(3, num_units, 0.1, 1);
    GroupSums scaled(1024, 2);
    for (size_t g = 0; g < sums.num_groups(); ++g) {
      if (!sums.is_used(g)) continue;
      const auto group = scaled.GroupOf(g);
      group[0] = -7 * sums.group(g)[0];
      group[1] = sums.group(g)[1];
    }
    const JudgedInterval judged = MeanInterval(TaskOf(sums, 1));
    const JudgedInterval other = MeanInterval(TaskOf(scaled, 7));
    EXPECT_EQ(judged.kind, other.kind);
    EXPECT_NEAR(other.interval.value, -7 * judged.interval.value, 1e-12);
    EXPECT_NEAR(other.interval.lower, -7 * judged.interval.upper, 1e-6);
    EXPECT_NEAR(other.interval.upper, -7 * judged.interval.lower, 1e-6);
    EXPECT_NEAR(other.standard_error, 7 * judged.standard_error, 1e-12);
  }
}

// Nothing that was seen differs from 0: that is no proof that nothing does.
TEST(MeanIntervalTest, EqualNumbersLeaveAnInterval) {
  GroupSums sums(1024, 2);
  for (uint64_t unit = 0; unit < 100; ++unit) sums.GroupOf(unit)[1] += 1;
  const JudgedInterval judged = MeanInterval(TaskOf(sums, 2));
  EXPECT_EQ(judged.kind, IntervalKind::kBetting);
  EXPECT_EQ(judged.interval.value, 0);
  EXPECT_LT(judged.interval.lower, -0.01);
  EXPECT_GT(judged.interval.upper, 0.01);
  EXPECT_GE(judged.interval.lower, -2);
  EXPECT_LE(judged.interval.upper, 2);
}

TEST(MeanIntervalTest, NothingSeenLeavesAllThatIsPossible) {
  const GroupSums sums(16, 2);
  const JudgedInterval judged = MeanInterval(TaskOf(sums, 3));
  EXPECT_EQ(judged.interval.value, 0);
  EXPECT_EQ(judged.interval.lower, -3);
  EXPECT_EQ(judged.interval.upper, 3);
}

constexpr double kPower = 0.8;

TEST(PlanningTest, IsTheTextbooksNumber) {
  // (1.96 + 0.8416)² σ² / Δ², σ = 0.5, Δ = 0.05: 785.
  const double error = 0.5 / std::sqrt(1000.0);
  EXPECT_EQ(DecisionsToSee(error, 1000, 0.05, kAlpha, kPower), 785u);
  // Half the difference takes four times as many.
  EXPECT_NEAR(
      static_cast<double>(DecisionsToSee(error, 1000, 0.025, kAlpha, kPower)),
      4 * 784.9, 1);
  // ((2.7162 + 0.8416) / (1.96 + 0.8416))² = 1.6127
  EXPECT_NEAR(static_cast<double>(DecisionsToSee(
                  error, 1000, 0.05, kAlpha, kPower, IntervalKind::kBetting)),
              1.6127 * 784.9, 1);
  EXPECT_EQ(DecisionsToSee(std::numeric_limits<double>::infinity(), 1, 0.05,
                           kAlpha, kPower),
            std::numeric_limits<uint64_t>::max());
}

// With as many decisions as planned, that many logs show the improvement.
TEST(PlanningTest, AsManyLogsSeeItAsWasPlanned) {
  // Σ p (ρ - 1)² E[r] of the toy, and its mean.
  double square = 0;
  for (size_t a = 0; a < kActions; ++a) {
    const double more = kNew[a] / kLogging[a] - 1;
    square += kLogging[a] * more * more * kReward[a];
  }
  const double gain = kNewValue - kLoggedValue;
  const double spread = std::sqrt(square - gain * gain);
  for (const IntervalKind kind :
       {IntervalKind::kStudent, IntervalKind::kBetting}) {
    const uint64_t planned =
        DecisionsToSee(spread, 1, gain, kAlpha, kPower, kind);
    constexpr int kLogs = 300;
    int seen = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      RandomSequence random(SeedKey(log));
      PolicySums sums(1, GroupSums::kDefaultGroups);
      for (uint64_t i = 0; i < planned; ++i) {
        const size_t action = DrawAction(&random);
        const JudgedDecision decision = Judge(action);
        sums.Add(Unit(i), 1, random.Uniform() < kReward[action] ? 1 : 0,
                 {&decision, 1});
      }
      IntervalTask task;
      task.sums = &sums;
      task.of = IntervalTask::Of::kGainOverLog;
      task.confidence = 1 - 2 * kAlpha;
      seen += MakeInterval(task, kind)->interval.lower > 0 ? 1 : 0;
    }
    // Four standard errors of 300 logs, and what the normal distribution leaves
    // out: few decisions, skewed.
    EXPECT_NEAR(seen, kLogs * kPower, 4 * std::sqrt(kLogs * 0.16) + 15)
        << IntervalKey(kind) << " " << planned;
  }
}

}  // namespace
}  // namespace sortition
