#include "core/counterfactual/rankings/ranking_sums.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/rankings/behaviour_choice.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT
using ::testing::HasSubstr;

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
    const JudgedRanking judged = decision.Judged();
    ASSERT_OK(sums.Add(MixedUnit(i), 1, decision.View(), {&judged, 1}));
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
              IsInvalid("num_segments is 65, must be in [1, 64]"));
  EXPECT_THAT(
      RankingSums::Create({.value = {{1}, 0}, .policies = {}, .num_groups = 1}),
      IsInvalid(HasSubstr("num_groups is 1, must be in [2, ")));
  RankingSums sums = MakeSums({kAllInputs}, 2);
  const World world = WorldOfFour(4, 3);
  Decision decision = world.Make({0, 1, 2, 3}, Users::kIndependent);
  const JudgedRanking judged = decision.Judged();
  EXPECT_THAT(sums.Add(1, 0, decision.View(), {&judged, 1}),
              IsInvalid("share is 0, must be in (0, 1]"));
  EXPECT_THAT(sums.Add(1, std::numeric_limits<double>::quiet_NaN(),
                       decision.View(), {&judged, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {}),
              IsInvalid(HasSubstr("number of judged policies is 0")));
  decision.segment = 2;
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {&judged, 1}),
              IsInvalid("segment is 2, must be in [0, 1]"));
  decision.segment = 0;
  decision.rewards[0] = 2;
  EXPECT_THAT(sums.Add(1, 1, decision.View(), {&judged, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
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
    const JudgedRanking judged = decision.Judged();
    ASSERT_OK(sums.Add(MixedUnit(i), 1, decision.View(), {&judged, 1}));
  }
  const double value = world.target.Mean([&](const Order& order) {
    return RewardOf(Users::kIndependent, order, 0, 3) +
           0.8 * RewardOf(Users::kIndependent, order, 1, 3) +
           0.5 * RewardOf(Users::kIndependent, order, 2, 3);
  });
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
    const JudgedRanking judged = decision.Judged();
    EXPECT_OK(sums.Add(MixedUnit(i), 1, decision.View(), {&judged, 1}));
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
  const double value = world.target.Mean([&](const Order& order) {
    double sum = 0;
    for (const Users users : {Users::kIndependent, Users::kShown}) {
      sum +=
          (RewardOf(users, order, 0, 3) + 0.8 * RewardOf(users, order, 1, 3) +
           0.5 * RewardOf(users, order, 2, 3)) /
          2;
    }
    return sum;
  });
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
    const JudgedRanking judged = decision.Judged();
    ASSERT_OK(a.Add(MixedUnit(i), 1, decision.View(), {&judged, 1}));
    if (RankingSums::FoldOf(MixedUnit(i)) == 0) {
      // Rewards that only the whole order explains.
      const double weight = decision.target_conditionals[0] +
                            decision.target_conditionals[1] +
                            decision.target_conditionals[2];
      decision.rewards.assign(3, std::exp(weight));
    }
    ASSERT_OK(b.Add(MixedUnit(i), 1, decision.View(), {&judged, 1}));
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

}  // namespace
}  // namespace sortition
