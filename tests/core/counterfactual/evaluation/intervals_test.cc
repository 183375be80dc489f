#include "core/counterfactual/evaluation/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/confidence/clopper_pearson.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/moments.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/option.pb.h"
#include "tests/core/counterfactual/evaluation/interval_logs.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT
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
  EXPECT_EQ(std::count(help.begin(), help.end(), ','), 5);
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
  task.largest_weight = 4;
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
      int covered[6] = {};
      int applied[6] = {};
      int best = 0;
      for (uint64_t log = 0; log < kLogs; ++log) {
        const PolicySums sums = ToyLog(300, size, 1000 + log);
        IntervalTask task = TaskOf(sums, of, EstimatorKind::kSelfNormalised);
        task.units_are_decisions = size == 1;
        const auto covers = [&](const JudgedInterval& judged) {
          return judged.interval.lower <= TruthOf(of) &&
                 TruthOf(of) <= judged.interval.upper;
        };
        for (size_t k = 0; k < 6; ++k) {
          const auto interval = MakeInterval(task, AllIntervalKinds()[k]);
          applied[k] += interval.has_value() ? 1 : 0;
          covered[k] += interval.has_value() && covers(*interval) ? 1 : 0;
        }
        best += covers(BestInterval(task)) ? 1 : 0;
      }
      // Four standard errors below 95 %.
      const double slack = 4 * std::sqrt(0.95 * 0.05 / kLogs);
      for (size_t k = 0; k < 6; ++k) {
        EXPECT_GE(covered[k], applied[k] * (0.95 - slack))
            << IntervalKey(AllIntervalKinds()[k]) << " of "
            << static_cast<int>(of) << " with units of " << size;
      }
      EXPECT_GE(best, kLogs * (0.95 - slack)) << static_cast<int>(of);
      const bool by_decision = size == 1;
      EXPECT_EQ(applied[3], by_decision && of == Of::kLogged ? kLogs : 0);
      EXPECT_EQ(applied[4], by_decision ? kLogs : 0);
      EXPECT_EQ(applied[5], kLogs);
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
      const PolicySums sums = ToyLog(2000, 1, 3000 + log, 8192);
      IntervalTask task = TaskOf(sums, of);
      const Interval plain =
          MakeInterval(task, IntervalKind::kBetting)->interval;
      task.largest_weight = 6;
      task.other_largest_weight = 2.5;
      const Interval interval =
          MakeInterval(task, IntervalKind::kBetting)->interval;
      covered += interval.lower <= TruthOf(of) && TruthOf(of) <= interval.upper;
      width += interval.upper - interval.lower;
      plain_width += plain.upper - plain.lower;
    }
    // Four standard errors below 95 %.
    EXPECT_GE(covered, kLogs * 0.95 - 4 * std::sqrt(kLogs * 0.95 * 0.05));
    // Of 2,000 units some share a group, which limits bets.
    EXPECT_LT(width, 0.9 * plain_width) << static_cast<int>(of);
  }
}

// Too few decisions for such a limit: it changes nothing.
TEST(IntervalsTest, AnEnormousLimitOfWeightsIsNone) {
  const PolicySums sums = ToyLog(500, 1, 9);
  IntervalTask task = TaskOf(sums, Of::kValue);
  const Interval plain = MakeInterval(task, IntervalKind::kBetting)->interval;
  task.largest_weight = 1000;
  const Interval limited = MakeInterval(task, IntervalKind::kBetting)->interval;
  EXPECT_EQ(limited.lower, plain.lower);
  EXPECT_EQ(limited.upper, plain.upper);
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

}  // namespace
}  // namespace sortition
