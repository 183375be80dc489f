// Which interval is shown, and that it holds where the log is not as it should.
#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/interval_logs.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT
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
  single.largest_weight = 4;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kClopperPearson);
  single.estimator.kind = EstimatorKind::kSelfNormalised;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kEmpiricalLikelihood);
  // Some twenty clicks.
  const PolicySums rare = DeterministicLog(2000, 6, 0.02);
  single.sums = &rare;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kClopperPearson);
  single.of = Of::kGainOverLog;
  EXPECT_EQ(BestInterval(single).kind, IntervalKind::kBetting);
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
    EXPECT_GE(covered, kLogs * 0.95 - 4 * std::sqrt(kLogs * 0.95 * 0.05))
        << EstimatorKey(kind);
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

}  // namespace
}  // namespace sortition
