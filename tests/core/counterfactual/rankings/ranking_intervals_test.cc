#include "core/counterfactual/rankings/ranking_intervals.h"

#include <cmath>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT

using Kind = RankingEstimatorKind;
using Of = IntervalTask::Of;

const std::vector<double> kAlpha = {1, 0.5};

double ValueOf(const Orders& orders, Users users) {
  return orders.Mean([&](const Order& order) {
    return kAlpha[0] * RewardOf(users, order, 0, 2) +
           kAlpha[1] * RewardOf(users, order, 1, 2);
  });
}

// A unit has up to three decisions, and a mood that they have in common.
RankingSums DrawLog(const World& world, uint64_t units, uint64_t seed) {
  auto sums = RankingSums::Create({.value = {kAlpha, 0},
                                   .policies = {kAllInputs, kAllInputs},
                                   .num_groups = 1024});
  EXPECT_OK(sums);
  RandomSequence random(KeyOf(seed));
  for (uint64_t unit = 0; unit < units; ++unit) {
    const uint64_t decisions = 1 + random.Below(3);
    const double mood = random.Uniform() < 0.5 ? 0.4 : 1.6;
    for (uint64_t i = 0; i < decisions; ++i) {
      Decision decision =
          world.Make(world.logging.Draw(&random), Users::kIndependent);
      for (double& reward : decision.rewards) {
        reward = random.Uniform() < reward * mood / 1.6 ? 1 : 0;
      }
      // The second policy is the log.
      JudgedRanking judged[2] = {decision.Judged(), decision.Judged()};
      judged[1].log_conditionals = decision.log_conditionals;
      judged[1].log_marginals = decision.log_marginals;
      EXPECT_OK(sums->Add(MixedUnit(unit), 1, decision.View(), judged));
    }
  }
  return *std::move(sums);
}

// 300 logs of 150 units. An interval of 90 % misses 30 times on average, with a
// standard deviation of 5.2; 46 is 3 of them more. Bets miss less often. Means
// of the mood are 1 / 1.6 of the rewards.
TEST(RankingIntervalsTest, CoverAsOftenAsTheySay) {
  const World world = WorldOfFour(3, 2);
  const double value = ValueOf(world.target, Users::kIndependent) / 1.6;
  const double gain = value - ValueOf(world.logging, Users::kIndependent) / 1.6;
  std::map<std::string, int> misses;
  for (uint64_t log = 0; log < 300; ++log) {
    const RankingSums sums = DrawLog(world, 150, 1000 + log);
    for (const Kind kind :
         {Kind::kShownPrefix, Kind::kRewardInteraction, Kind::kCascadeDr,
          Kind::kItemPosition, Kind::kSelfNormalisedItemPosition,
          Kind::kAdaptive}) {
      for (const Of of : {Of::kValue, Of::kGainOverLog}) {
        const RankingIntervalTask task = {.sums = &sums,
                                          .estimator = kind,
                                          .of = of,
                                          .confidence = 0.9,
                                          .largest_group = 9};
        const double truth = of == Of::kValue ? value : gain;
        for (const IntervalKind interval :
             {IntervalKind::kStudent, IntervalKind::kEmpiricalLikelihood,
              IntervalKind::kBetting}) {
          const auto judged = MakeRankingInterval(task, interval);
          if (!judged.has_value()) continue;
          const bool missed =
              truth < judged->interval.lower || truth > judged->interval.upper;
          misses[RankingEstimatorKey(kind) + " " + IntervalKey(interval) +
                 (of == Of::kValue ? "" : " gain")] += missed ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(misses.size(), 34u);  // No bets on the adaptive estimator.
  for (const auto& [name, count] : misses) {
    EXPECT_LE(count, 46) << name;
    if (name.find("betting") != std::string::npos) {
      EXPECT_LE(count, 30) << name;
    } else {
      // They are not simply wide.
      EXPECT_GE(count, 12) << name;
    }
  }
}

TEST(RankingIntervalsTest, DifferencesArePaired) {
  const World world = WorldOfFour(3, 2);
  const RankingSums sums = DrawLog(world, 500, 7);
  RankingIntervalTask task = {.sums = &sums,
                              .estimator = Kind::kRewardInteraction,
                              .of = Of::kGainOverPolicy,
                              .other = 1,
                              .largest_group = 9};
  const auto against_policy = MakeRankingInterval(task, IntervalKind::kStudent);
  ASSERT_TRUE(against_policy.has_value());
  task.of = Of::kGainOverLog;
  const auto against_log = MakeRankingInterval(task, IntervalKind::kStudent);
  ASSERT_TRUE(against_log.has_value());
  // The second policy is the log.
  EXPECT_NEAR(against_policy->interval.lower, against_log->interval.lower,
              1e-9);
  EXPECT_NEAR(against_policy->interval.upper, against_log->interval.upper,
              1e-9);
  task.of = Of::kGainOverPolicy;
  const auto bets = MakeRankingInterval(task, IntervalKind::kBetting);
  ASSERT_TRUE(bets.has_value());
  EXPECT_LT(bets->interval.lower, bets->interval.value);
  EXPECT_GE(bets->interval.lower, -1.5);
  // Of a policy with itself nothing is left.
  task.other = 0;
  EXPECT_NEAR(MakeRankingInterval(task, IntervalKind::kStudent)->interval.upper,
              0, 1e-9);
}

TEST(RankingIntervalsTest, TheBestOneDependsOnHowMuchThereIs) {
  const World world = WorldOfFour(3, 2);
  const RankingSums many = DrawLog(world, 800, 8);
  EXPECT_EQ(
      BestRankingInterval(
          {.sums = &many, .estimator = Kind::kItemPosition, .largest_group = 9})
          ->kind,
      IntervalKind::kEmpiricalLikelihood);
  const RankingSums few = DrawLog(world, 20, 8);
  EXPECT_EQ(
      BestRankingInterval(
          {.sums = &few, .estimator = Kind::kItemPosition, .largest_group = 9})
          ->kind,
      IntervalKind::kBetting);
  EXPECT_EQ(
      BestRankingInterval({.sums = &few, .estimator = Kind::kAdaptive})->kind,
      IntervalKind::kStudent);
  EXPECT_EQ(
      BestRankingInterval({.sums = &few, .of = Of::kLogged, .largest_group = 9})
          ->kind,
      IntervalKind::kBetting);
  const auto bootstrap = MakeRankingInterval(
      {.sums = &many, .estimator = Kind::kCascadeDr}, IntervalKind::kBootstrap);
  ASSERT_TRUE(bootstrap.has_value());
  EXPECT_LT(bootstrap->interval.lower, bootstrap->interval.value);
  EXPECT_GT(bootstrap->interval.upper, bootstrap->interval.value);
}

TEST(RankingIntervalsTest, WhatIsNotSupportedHasNone) {
  auto sums = RankingSums::Create(
      {.value = {kAlpha, 0}, .policies = {{}}, .num_groups = 16});
  ASSERT_OK(sums);
  for (const IntervalKind kind : AllIntervalKinds()) {
    EXPECT_FALSE(MakeRankingInterval(
                     {.sums = &*sums, .estimator = Kind::kItemPosition}, kind)
                     .has_value());
  }
  EXPECT_FALSE(
      BestRankingInterval({.sums = &*sums, .estimator = Kind::kItemPosition})
          .has_value());
}

}  // namespace
}  // namespace sortition
