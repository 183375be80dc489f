#include "core/counterfactual/rankings/ranking_sums.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/rankings/behaviour_choice.h"
#include "core/counterfactual/rankings/ranking_intervals.h"
#include "core/counterfactual/rankings/user_tests.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT

using Kind = RankingEstimatorKind;

RankingSums MakeSums(std::vector<RankingInputs> policies,
                     size_t num_segments = 1, size_t num_groups = 512) {
  auto sums = RankingSums::Create({.value = {{1, 0.8, 0.5}, 0.25},
                                   .policies = std::move(policies),
                                   .num_segments = num_segments,
                                   .num_groups = num_groups});
  EXPECT_OK(sums);
  return *std::move(sums);
}

RatioEstimate EstimateOf(const RankingSums& sums, Kind kind,
                         size_t policy = 0) {
  return EstimateRatios(sums.sums(), sums.RatiosOf(policy, kind));
}

TEST(RankingEstimatorTest, KeysAndNamesAreDifferent) {
  std::set<std::string> keys;
  std::set<std::string> names;
  for (const Kind kind : AllRankingEstimators()) {
    EXPECT_TRUE(keys.insert(RankingEstimatorKey(kind)).second);
    EXPECT_TRUE(names.insert(RankingEstimatorName(kind)).second);
    EXPECT_FALSE(RankingAssumptionOf(kind).empty());
    EXPECT_EQ(RankingEstimatorOfKey(RankingEstimatorKey(kind)), kind);
  }
  EXPECT_EQ(keys.size(), 17u);
  EXPECT_EQ(RankingEstimatorOfKey("ips"), std::nullopt);
}

TEST(RankingSumsTest, MergingIsAddingAllToOne) {
  const World world = WorldOfFour(4, 3);
  RankingSums all = MakeSums({kAllInputs, {}}, 2);
  RankingSums parts[2] = {all, all};
  RandomSequence random(KeyOf(1));
  for (uint64_t i = 0; i < 400; ++i) {
    Decision decision = world.Draw(Users::kCascade, &random);
    decision.whole_reward = random.Uniform();
    decision.segment = i % 2;
    decision.pseudo_inverse_weight = random.Normal();
    const JudgedRanking judged[2] = {decision.Judged(), decision.Judged()};
    const double share = 0.5 + 0.5 * random.Uniform();
    // Units have several decisions, some in both parts.
    const uint64_t unit = MixedUnit(i / 3);
    ASSERT_OK(all.Add(unit, share, decision.View(), judged));
    ASSERT_OK(parts[i % 5 == 0].Add(unit, share, decision.View(), judged));
  }
  parts[0].Merge(parts[1]);
  EXPECT_EQ(parts[0].num_decisions(), all.num_decisions());
  for (size_t policy = 0; policy < 2; ++policy) {
    for (const Kind kind : AllRankingEstimators()) {
      EXPECT_EQ(all.Supports(policy, kind),
                !all.RatiosOf(policy, kind).empty());
      if (!all.Supports(policy, kind)) continue;
      const RatioEstimate a = EstimateOf(all, kind, policy);
      const RatioEstimate b = EstimateOf(parts[0], kind, policy);
      EXPECT_NEAR(a.value, b.value, 1e-12) << RankingEstimatorName(kind);
      EXPECT_NEAR(a.standard_error, b.standard_error, 1e-12);
      EXPECT_NEAR(all.EffectiveSampleSize(policy, kind),
                  parts[0].EffectiveSampleSize(policy, kind), 1e-8);
    }
  }
}

TEST(RankingSumsTest, APolicyHasTheEstimatorsWhoseInputsItBrings) {
  const RankingSums sums = MakeSums({{},
                                     {.marginals = true},
                                     {.prefix_model = true},
                                     {.position_model = true},
                                     {.pseudo_inverse = true}});
  const auto count = [&](size_t policy) {
    int supported = 0;
    for (const Kind kind : AllRankingEstimators()) {
      supported += sums.Supports(policy, kind) ? 1 : 0;
    }
    return supported;
  };
  // Plain and self-normalised ones of three weights, and the adaptive one.
  EXPECT_EQ(count(0), 7);
  EXPECT_EQ(count(1), 9);   // iips, sniips
  EXPECT_EQ(count(2), 8);   // cascade_dr
  EXPECT_EQ(count(3), 10);  // whole_dr, shown_dr, direct
  EXPECT_EQ(count(4), 9);   // pi, snpi
  EXPECT_TRUE(sums.RatiosOf(0, Kind::kItemPosition).empty());
  EXPECT_EQ(sums.EffectiveSampleSize(0, Kind::kItemPosition), 0);
}

// The policy that logged: all weights are 1.
TEST(RankingSumsTest, ThePolicyThatLoggedEarnsWhatTheLogHas) {
  const World world({0.3, -0.2, 0.1, 0.5}, {0.3, -0.2, 0.1, 0.5}, 4, 3);
  RankingSums sums = MakeSums({{.marginals = true}});
  RandomSequence random(KeyOf(2));
  for (uint64_t i = 0; i < 200; ++i) {
    Decision decision = world.Draw(Users::kShown, &random);
    // Ranks that were not shown.
    const size_t shown = 1 + i % 3;
    decision.rewards.resize(shown);
    decision.log_marginals.resize(shown);
    decision.target_marginals.resize(shown);
    decision.whole_reward = random.Uniform();
    ASSERT_OK(AddTo(&sums, i, 1, decision));
  }
  const Ratio logged = sums.LoggedReward();
  const double reward = EstimateRatios(sums.sums(), {&logged, 1}).value;
  for (const Kind kind : AllRankingEstimators()) {
    if (!sums.Supports(0, kind)) continue;
    EXPECT_NEAR(EstimateOf(sums, kind).value, reward, 1e-9)
        << RankingEstimatorName(kind);
    std::vector<Ratio> gain = sums.RatiosOf(0, kind);
    gain.push_back({logged.numerator, logged.denominator, -1});
    EXPECT_NEAR(EstimateRatios(sums.sums(), gain).standard_error, 0, 1e-9);
  }
  for (const RankingWeightKind kind :
       {RankingWeightKind::kWholeOrder, RankingWeightKind::kPrefix,
        RankingWeightKind::kMarginal}) {
    const Ratio weight = sums.MeanWeight(0, kind);
    EXPECT_NEAR(EstimateRatios(sums.sums(), {&weight, 1}).value, 1, 1e-9);
  }
  for (size_t k = 0; k < 3; ++k) {
    const Ratio rank = sums.LoggedRewardAtRank(k);
    EXPECT_NEAR(
        EstimateRatios(
            sums.sums(),
            sums.RatiosAtRank(0, Kind::kSelfNormalisedRewardInteraction, k))
            .value,
        EstimateRatios(sums.sums(), {&rank, 1}).value, 1e-9);
    EXPECT_NEAR(
        sums.EffectiveSampleSizeAtRank(0, RankingWeightKind::kPrefix, k), 200,
        1e-6);
  }
}

// Two decisions with weights 3 and 1: (3 + 1)² / (9 + 1).
TEST(RankingSumsTest, EffectiveSampleSizeByHand) {
  auto sums = RankingSums::Create(
      {.value = {{1}, 0}, .policies = {{}}, .num_groups = 16});
  ASSERT_OK(sums);
  for (const double target : {0.6, 0.2}) {
    const double reward[] = {1};
    const double logged[] = {std::log(0.2)};
    const double judged[] = {std::log(target)};
    const JudgedRanking ranking = {.log_conditionals = judged};
    ASSERT_OK(sums->Add(MixedUnit(1), 1,
                        {.rewards = reward, .log_conditionals = logged},
                        {&ranking, 1}));
  }
  EXPECT_NEAR(sums->EffectiveSampleSize(0, Kind::kRewardInteraction), 1.6,
              1e-12);
  EXPECT_NEAR(sums->EffectiveSampleSizeAtRank(0, RankingWeightKind::kPrefix, 0),
              1.6, 1e-12);
  EXPECT_NEAR(EstimateOf(*sums, Kind::kRewardInteraction).value, 2, 1e-12);
}

TEST(RankingSumsTest, RefusesWhatIsOutOfRange) {
  EXPECT_THAT(RankingSums::Create(
                  {.value = {{1}, 0}, .policies = {}, .num_segments = 65}),
              IsInvalidArgument("num_segments is 65, must be in [1, 64]"));
  EXPECT_THAT(
      RankingSums::Create({.value = {{1}, 0}, .policies = {}, .num_groups = 1}),
      IsInvalidArgument("num_groups is 1, must be in [2, "));
  RankingSums sums = MakeSums({kAllInputs}, 2);
  const World world = WorldOfFour(4, 3);
  Decision decision = world.Make({0, 1, 2, 3}, Users::kIndependent);
  const JudgedRanking judged = decision.Judged();
  EXPECT_THAT(sums.Add(1, 0, decision.View(), {&judged, 1}),
              IsInvalidArgument("share is 0, must be in (0, 1]"));
  EXPECT_THAT(sums.Add(1, std::numeric_limits<double>::quiet_NaN(),
                       decision.View(), {&judged, 1}),
              IsInvalidArgument());
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {}),
              IsInvalidArgument("number of judged policies is 0"));
  decision.segment = 2;
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {&judged, 1}),
              IsInvalidArgument("segment is 2, must be in [0, 1]"));
  decision.segment = 0;
  decision.rewards[0] = 2;
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {&judged, 1}),
              IsInvalidArgument());
  EXPECT_EQ(sums.num_decisions(), 0u);
  EXPECT_EQ(sums.sums().num_used_groups(), 0u);
}

// The mean square of the error over logs.
TEST(RankingSumsTest, SelfNormalisedEstimatesConverge) {
  const World world = WorldOfFour(4, 3);
  RankingSums sums = MakeSums({{.marginals = true}});
  RandomSequence random(KeyOf(3));
  constexpr uint64_t kDecisions = 20000;
  for (uint64_t i = 0; i < kDecisions; ++i) {
    Decision decision = world.Draw(Users::kIndependent, &random);
    ASSERT_OK(AddTo(&sums, i, 1, decision));
  }
  const double value = TrueValue(world, Users::kIndependent);
  for (const Kind kind :
       {Kind::kSelfNormalisedWholeOrder, Kind::kSelfNormalisedShownPrefix,
        Kind::kSelfNormalisedRewardInteraction,
        Kind::kSelfNormalisedItemPosition}) {
    const RatioEstimate estimate = EstimateOf(sums, kind);
    // 3.5 standard errors: P < 0.0005 each.
    EXPECT_NEAR(estimate.value, value, 3.5 * estimate.standard_error);
    EXPECT_LT(estimate.standard_error, 0.02);
  }
}

RankingSums MixedUsers(const World& world, uint64_t decisions, uint64_t seed) {
  RankingSums sums = MakeSums({{.marginals = true}}, 2);
  RandomSequence random(KeyOf(seed));
  for (uint64_t i = 0; i < decisions; ++i) {
    Decision decision =
        world.Draw(i % 2 == 0 ? Users::kIndependent : Users::kShown, &random);
    decision.segment = i % 2;
    EXPECT_OK(AddTo(&sums, i, 1, decision));
  }
  return sums;
}

// A policy far from the log, and rewards that depend strongly on what else is
// shown: with many decisions the bias is seen.
TEST(RankingSumsTest, TheAdaptiveEstimatorFollowsUsersBySegment) {
  const World world({0.9, -0.6, 0.1, 0.5}, {-0.9, 1.2, 0.4, -0.5}, 4, 3);
  const RankingSums sums = MixedUsers(world, 60000, 4);
  for (size_t fold = 0; fold < RankingSums::kNumFolds; ++fold) {
    EXPECT_NE(sums.ChosenFor(0, 0, fold), Kind::kShownPrefix);
    EXPECT_EQ(sums.ChosenFor(0, 1, fold), Kind::kShownPrefix);
  }
  const double value = (TrueValue(world, Users::kIndependent) +
                        TrueValue(world, Users::kShown)) /
                       2;
  const RatioEstimate adaptive = EstimateOf(sums, Kind::kAdaptive);
  EXPECT_NEAR(adaptive.value, value, 3.5 * adaptive.standard_error);
  const RatioEstimate shown = EstimateOf(sums, Kind::kShownPrefix);
  EXPECT_LT(adaptive.standard_error, shown.standard_error);
  const RatioEstimate items = EstimateOf(sums, Kind::kItemPosition);
  EXPECT_GT(std::fabs(items.value - value), 5 * items.standard_error);
  EXPECT_GT(sums.EffectiveSampleSize(0, Kind::kAdaptive),
            sums.EffectiveSampleSize(0, Kind::kShownPrefix));
}

// Changing rewards of a fold's own units changes nothing of its choice.
TEST(RankingSumsTest, AFoldIsJudgedByWhatOthersChose) {
  const World world = WorldOfFour(4, 3);
  RankingSums a = MakeSums({{.marginals = true}});
  RankingSums b = a;
  RandomSequence random(KeyOf(5));
  for (uint64_t i = 0; i < 2000; ++i) {
    Decision decision = world.Draw(Users::kIndependent, &random);
    ASSERT_OK(AddTo(&a, i, 1, decision));
    if (RankingSums::FoldOf(MixedUnit(i)) == 0) {
      // Rewards that only the whole order explains.
      const double weight = decision.target_conditionals[0] +
                            decision.target_conditionals[1] +
                            decision.target_conditionals[2];
      decision.rewards.assign(3, std::exp(weight));
    }
    ASSERT_OK(AddTo(&b, i, 1, decision));
  }
  EXPECT_EQ(a.ChosenFor(0, 0, 0), b.ChosenFor(0, 0, 0));
  EXPECT_NE(a.ChosenFor(0, 0, 1), b.ChosenFor(0, 0, 1));
}

// Four groups of one decision each, entries: count and three candidates.
GroupSums CandidateSums(const std::vector<std::vector<double>>& rows) {
  GroupSums sums(64, rows[0].size() + 1);
  for (size_t g = 0; g < rows.size(); ++g) {
    const std::span<double> row = sums.GroupOf(g);
    row[0] = 1;
    for (size_t c = 0; c < rows[g].size(); ++c) row[1 + c] = rows[g][c];
  }
  return sums;
}

size_t Choose(const std::vector<std::vector<double>>& rows) {
  std::vector<Ratio> candidates;
  for (size_t c = 0; c < rows[0].size(); ++c) {
    candidates.push_back({{{1 + c, 1}}, {{0, 1}}});
  }
  return ChooseBehaviour(CandidateSums(rows), candidates);
}

TEST(BehaviourChoiceTest, WeighsBiasAgainstVariance) {
  // Equal means, less variance.
  EXPECT_EQ(Choose({{0, 1}, {2, 1}, {0, 1}, {2, 1}}), 1u);
  // Less variance, but always 5 more.
  EXPECT_EQ(Choose({{0, 6}, {2, 6}, {0, 6}, {2, 6}}), 0u);
  // Equal: the fewer assumptions.
  EXPECT_EQ(Choose({{0, 0}, {2, 2}, {0, 0}, {2, 2}}), 0u);
  // One group says nothing of errors.
  EXPECT_EQ(Choose({{0, 1}}), 0u);
  // The first one is too noisy to show the bias of the third; the second shows
  // it: 1 off, with next to no variance.
  EXPECT_EQ(Choose({{-40, 1.1, 0}, {42, 0.9, 0}, {-40, 0.9, 0}, {42, 1.1, 0}}),
            1u);
}

using Kind = RankingEstimatorKind;
using Of = IntervalTask::Of;

const std::vector<double> kTwoRanks = {1, 0.5};

double ValueOf(const Orders& orders, Users users) {
  return orders.Mean([&](const Order& order) {
    return kTwoRanks[0] * RewardOf(users, order, 0, 2) +
           kTwoRanks[1] * RewardOf(users, order, 1, 2);
  });
}

// A unit has up to three decisions, and a mood that they have in common.
RankingSums DrawLog(const World& world, uint64_t units, uint64_t seed) {
  auto sums = RankingSums::Create({.value = {kTwoRanks, 0},
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
  // The adaptive estimator has no interval of the value.
  EXPECT_EQ(misses.size(), 32u);
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
  EXPECT_FALSE(BestRankingInterval({.sums = &few, .estimator = Kind::kAdaptive})
                   .has_value());
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

// In 12 % of the contexts the policy puts an item first that earns 0 and that
// the log puts there once in 5,000 times, in place of one that earns 0.9.
// Elsewhere items earn 0.9 and 0.7, the log tosses a coin, and the policy takes
// the first one. Its gain is 0.88 · 0.1 - 0.12 · 0.9 = -0.02, of which logs of
// 2,000 decisions have seen nothing but the first half.
TEST(RankingIntervalsTest, WhatTheLogHardlyEverShowedIsNoGain) {
  constexpr int kLogs = 40;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::map<Kind, int> missed;
  for (uint64_t log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(700 + log));
    auto sums = RankingSums::Create({.value = {{1}, 0}, .policies = {{}}});
    ASSERT_OK(sums);
    for (uint64_t unit = 0; unit < 2000; ++unit) {
      const bool is_rare = random.Uniform() < 0.12;
      const double propensity = is_rare ? 2e-4 : 0.5;
      const bool is_chosen = random.Uniform() < propensity;
      const double chance =
          is_rare ? (is_chosen ? 0 : 0.9) : (is_chosen ? 0.9 : 0.7);
      const double reward = random.Uniform() < chance ? 1 : 0;
      const double logged = std::log(is_chosen ? propensity : 1 - propensity);
      const double judged = is_chosen ? 0 : kNone;
      const JudgedRanking ranking = {.log_conditionals = {&judged, 1}};
      ASSERT_OK(
          sums->Add(MixedUnit(unit), 1,
                    {.rewards = {&reward, 1}, .log_conditionals = {&logged, 1}},
                    {&ranking, 1}));
    }
    for (const Kind kind :
         {Kind::kShownPrefix, Kind::kSelfNormalisedShownPrefix,
          Kind::kRewardInteraction, Kind::kSelfNormalisedRewardInteraction}) {
      const auto gain = BestRankingInterval(
          {.sums = &*sums, .estimator = kind, .of = Of::kGainOverLog});
      ASSERT_TRUE(gain.has_value());
      missed[kind] +=
          gain->interval.lower > -0.02 || gain->interval.upper < -0.02;
    }
  }
  // 2.4 of 40 at the rate of 6 %; 8 have a probability below 0.003.
  for (const auto& [kind, count] : missed) {
    EXPECT_LE(count, 7) << RankingEstimatorKey(kind);
  }
}

// Two orders of two items, a and b, a coin in the log. Users look at the second
// rank with 0.6 after b and with 0.5 after a, and click on half of what they
// see. The policy puts b first: it earns 0.5 + 0.6 · 0.5.
struct PagedLog {
  static constexpr double kValue = 0.8;
  RankingSums sums = *RankingSums::Create({.value = {{1, 1}, 0},
                                           .policies = {{.marginals = true}},
                                           .num_groups = 2048});

  void Add(uint64_t unit, double share, bool is_b_first, size_t shown,
           double reward) {
    const double never = -std::numeric_limits<double>::infinity();
    const std::vector<double> rewards(shown, reward);
    const double logged[] = {std::log(0.5), 0};
    const double judged[] = {is_b_first ? 0 : never, 0};
    const std::vector<double> log_marginals(shown, std::log(0.5));
    const std::vector<double> judged_marginals(shown, judged[0]);
    const JudgedRanking ranking = {.log_conditionals = judged,
                                   .log_marginals = judged_marginals};
    EXPECT_OK(sums.Add(unit, share,
                       {.rewards = rewards,
                        .log_conditionals = logged,
                        .log_marginals = log_marginals},
                       {&ranking, 1}));
  }
};

constexpr RankingWeightKind kWeightsOfOrders[] = {
    RankingWeightKind::kWholeOrder, RankingWeightKind::kShownPrefix,
    RankingWeightKind::kPrefix};

// Every case counts as it is probable, with mean rewards.
TEST(RankingIntervalsTest, HowFarUsersLookMayDependOnWhatStandsAbove) {
  PagedLog log;
  for (const bool is_b_first : {false, true}) {
    const double looks = is_b_first ? 0.6 : 0.5;
    log.Add(1, 0.5 * looks, is_b_first, 2, 0.5);
    log.Add(2, 0.5 * (1 - looks), is_b_first, 1, 0.5);
  }
  EXPECT_TRUE(log.sums.ShownRanksVary());
  const auto total = [&](const SumFunction& sum) {
    return ApplyToTotals(sum, log.sums.sums());
  };
  for (const RankingWeightKind kind : kWeightsOfOrders) {
    EXPECT_NEAR(total(log.sums.PlainTerm(0, kind)), PagedLog::kValue, 1e-12);
    EXPECT_NEAR(
        total(log.sums.LargestReward()) - total(log.sums.PlainRegret(0, kind)),
        PagedLog::kValue, 1e-12);
    const Ratio weight = log.sums.MeanWeight(0, kind);
    EXPECT_NEAR(EstimateRatios(log.sums.sums(), {&weight, 1}).value, 1, 1e-12);
  }
  // Weights of single ranks are not right here.
  EXPECT_FALSE(
      BestRankingInterval({.sums = &log.sums, .estimator = Kind::kItemPosition})
          .has_value());
}

TEST(RankingIntervalsTest, CoverWhereUsersLookOn) {
  constexpr int kLogs = 40;
  std::map<Kind, int> covered;
  for (uint64_t seed = 0; seed < kLogs; ++seed) {
    RandomSequence random(SeedKey(4200 + seed));
    PagedLog log;
    for (uint64_t unit = 0; unit < 5000; ++unit) {
      const bool is_b_first = random.Uniform() < 0.5;
      const bool looks = random.Uniform() < (is_b_first ? 0.6 : 0.5);
      log.Add(MixedUnit(unit), 1, is_b_first, looks ? 2 : 1,
              random.Uniform() < 0.5 ? 1 : 0);
    }
    for (const Kind kind : {Kind::kShownPrefix, Kind::kRewardInteraction}) {
      const Interval interval =
          BestRankingInterval({.sums = &log.sums, .estimator = kind})->interval;
      covered[kind] += interval.lower <= PagedLog::kValue &&
                       PagedLog::kValue <= interval.upper;
    }
  }
  // 38 of 40 at 95 %; fewer than 34 have a probability below 0.003.
  for (const auto& [kind, count] : covered) {
    EXPECT_GE(count, 34) << RankingEstimatorKey(kind);
  }
}

// Pages of the same size for everybody, of longer orders: what nobody was shown
// counts nowhere.
TEST(RankingIntervalsTest, RanksThatNoDecisionShowsCountNowhere) {
  for (const size_t shown : {1, 2}) {
    PagedLog log;
    for (uint64_t unit = 0; unit < 200; ++unit) {
      log.Add(MixedUnit(unit), 1, unit % 2 == 0, shown, unit % 4 < 2 ? 1 : 0);
    }
    EXPECT_FALSE(log.sums.ShownRanksVary());
    EXPECT_NEAR(ApplyToTotals(log.sums.LargestReward(), log.sums.sums()),
                200.0 * static_cast<double>(shown), 1e-9);
    EXPECT_TRUE(BestRankingInterval(
                    {.sums = &log.sums, .estimator = Kind::kItemPosition})
                    .has_value());
  }
}

// Rewards that hardly differ: a single one of 0 would outweigh all differences.
TEST(RankingIntervalsTest, RewardsThatWereNotSeenArePossible) {
  auto sums = RankingSums::Create(
      {.value = {{1}, 0}, .policies = {{}}, .num_groups = 1024});
  ASSERT_OK(sums);
  for (uint64_t unit = 0; unit < 400; ++unit) {
    const double reward = unit % 2 == 0 ? 0.89 : 0.91;
    const double sure = 0;
    const JudgedRanking ranking = {.log_conditionals = {&sure, 1}};
    ASSERT_OK(
        sums->Add(MixedUnit(unit), 1,
                  {.rewards = {&reward, 1}, .log_conditionals = {&sure, 1}},
                  {&ranking, 1}));
  }
  EXPECT_EQ(BestRankingInterval({.sums = &*sums})->kind,
            IntervalKind::kBoundedLikelihood);
}

TEST(RankingIntervalsTest, WhatIsNotSupportedHasNone) {
  auto sums = RankingSums::Create(
      {.value = {kTwoRanks, 0}, .policies = {{}}, .num_groups = 16});
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

using Dependence = UserDependence;

constexpr Dependence kAll[] = {Dependence::kBelow, Dependence::kAbove,
                               Dependence::kUnshown};

// Four of five items are logged, three shown. With all five, those that were
// not shown would be known from those that were.
World WorldOfFive() {
  return World({0.3, -0.2, 0.1, 0.5, 0}, {-0.5, 0.9, 0.2, -0.1, 0.6}, 4, 3);
}

UserTestSums MakeUserSums(double mixture = 0.5) {
  auto sums = UserTestSums::Create({.value = {{1, 1, 1}, 0},
                                    .mixture = mixture,
                                    .has_marginals = true,
                                    .num_groups = 2048});
  EXPECT_OK(sums);
  return *std::move(sums);
}

bool Contradicts(Users users, Dependence dependence) {
  switch (dependence) {
    case Dependence::kBelow:
      return users == Users::kShown || users == Users::kWhole;
    case Dependence::kAbove:
      return users != Users::kIndependent;
    case Dependence::kUnshown:
      return users == Users::kWhole;
  }
  return false;
}

// Every order counts as it is probable, with mean rewards, and is there so
// often that the differences are nearly normal.
TEST(UserTestsTest, TheDifferenceIs0UnderTheAssumptionAndNotOtherwise) {
  const World world = WorldOfFive();
  constexpr int kCopies = 20;
  for (const Users users :
       {Users::kIndependent, Users::kCascade, Users::kShown, Users::kWhole}) {
    UserTestSums sums = MakeUserSums();
    uint64_t unit = 0;
    world.logging.ForEach([&](const Order& order) {
      const Decision decision = world.Make(order, users);
      for (int copy = 0; copy < kCopies; ++copy) {
        ASSERT_OK(sums.Add(MixedUnit(unit++),
                           world.logging.Probability(order) / kCopies,
                           decision.View(), decision.Judged()));
      }
    });
    for (const Dependence dependence : kAll) {
      const DependenceTest test = sums.Test(dependence);
      const size_t ranks = dependence == Dependence::kUnshown ? 1 : 2;
      EXPECT_EQ(test.ranks.size(), ranks) << UserDependenceKey(dependence);
      double largest = 0;
      for (const RankDependence& rank : test.ranks) {
        EXPECT_NEAR(rank.mean_weight, 1, 1e-10);
        largest = std::max(largest, std::fabs(rank.difference));
      }
      if (Contradicts(users, dependence)) {
        EXPECT_GT(largest, 1e-3) << UserDependenceKey(dependence);
      } else {
        EXPECT_LT(largest, 1e-10) << UserDependenceKey(dependence);
      }
    }
  }
}

double PValueOf(const World& world, Users users, uint64_t decisions,
                uint64_t seed, Dependence dependence) {
  UserTestSums sums = MakeUserSums();
  RandomSequence random(KeyOf(seed));
  for (uint64_t i = 0; i < decisions; ++i) {
    const Decision decision = world.Draw(users, &random);
    EXPECT_OK(sums.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  return sums.Test(dependence).p_value;
}

// How many of `logs` logs contradict the dependence at a level.
int NumRejected(Users users, Dependence dependence, int logs,
                uint64_t decisions, double level) {
  const World world = WorldOfFive();
  int rejected = 0;
  for (int log = 0; log < logs; ++log) {
    const uint64_t seed = decisions + static_cast<uint64_t>(log);
    rejected += PValueOf(world, users, decisions, seed, dependence) < level;
  }
  return rejected;
}

// 300 logs each. At a level of 10 %, 30 rejections on average and a standard
// deviation of 5.2: at most 46, P < 0.002.
TEST(UserTestsTest, RejectNoMoreOftenThanTheySay) {
  for (const auto& [users, dependence] :
       {std::pair(Users::kCascade, Dependence::kBelow),
        std::pair(Users::kIndependent, Dependence::kAbove),
        std::pair(Users::kShown, Dependence::kUnshown)}) {
    const int rejected = NumRejected(users, dependence, 300, 400, 0.1);
    EXPECT_LE(rejected, 46) << UserDependenceKey(dependence);
    EXPECT_GE(rejected, 5) << UserDependenceKey(dependence);
  }
}

TEST(UserTestsTest, SeeWhatIsThere) {
  for (const auto& [users, dependence] :
       {std::pair(Users::kShown, Dependence::kBelow),
        std::pair(Users::kCascade, Dependence::kAbove),
        std::pair(Users::kWhole, Dependence::kUnshown)}) {
    EXPECT_GE(NumRejected(users, dependence, 10, 8000, 0.05), 8)
        << UserDependenceKey(dependence);
  }
}

TEST(UserTestsTest, MergingIsAddingAllToOne) {
  const World world = WorldOfFive();
  UserTestSums all = MakeUserSums();
  UserTestSums parts[2] = {all, all};
  RandomSequence random(KeyOf(6));
  for (uint64_t i = 0; i < 500; ++i) {
    const Decision decision = world.Draw(Users::kShown, &random);
    ASSERT_OK(all.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
    ASSERT_OK(
        parts[i % 2].Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  parts[0].Merge(parts[1]);
  for (const Dependence dependence : kAll) {
    EXPECT_NEAR(all.Test(dependence).p_value, parts[0].Test(dependence).p_value,
                1e-9);
  }
}

TEST(UserTestsTest, FewDecisionsAreNotTested) {
  const World world = WorldOfFive();
  UserTestSums sums = MakeUserSums();
  EXPECT_EQ(sums.Test(Dependence::kBelow).num_skipped, 0u);
  RandomSequence random(KeyOf(7));
  for (uint64_t i = 0; i < 20; ++i) {
    const Decision decision = world.Draw(Users::kShown, &random);
    ASSERT_OK(sums.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  EXPECT_EQ(sums.Test(Dependence::kBelow).num_skipped, 2u);
  EXPECT_EQ(sums.Test(Dependence::kBelow).p_value, 1);
}

TEST(UserTestsTest, RefuseWhatIsOutOfRange) {
  EXPECT_THAT(UserTestSums::Create({.value = {{1}, 0}, .mixture = 0}),
              IsInvalidArgument("mixture is 0, must be in (0, 1]"));
  EXPECT_THAT(UserTestSums::Create({.value = {{1}, 0}, .num_groups = 1}),
              IsInvalidArgument("num_groups is 1"));
  UserTestSums sums = MakeUserSums();
  Decision decision = WorldOfFive().Make({0, 1, 2, 3}, Users::kIndependent);
  EXPECT_THAT(sums.Add(1, 2, decision.View(), decision.Judged()),
              IsInvalidArgument("share is 2, must be in (0, 1]"));
  decision.target_marginals.clear();
  EXPECT_THAT(sums.Add(1, 1, decision.View(), decision.Judged()),
              IsInvalidArgument("log_marginals of a policy has 0 numbers"));
}

}  // namespace
}  // namespace sortition
