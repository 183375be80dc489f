#include "trainer/rollout/rollout_rules.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "bench/rollout/rollout_world.h"
#include "process/metrics.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/refusals.h"
#include "trainer/rollout/arm_censoring.h"
#include "trainer/rollout/rollout_plan.h"
#include "trainer/rollout/rollout_text.h"
#include "trainer/rollout/server_counts.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using model::v1::Rollout;
using model::v1::VersionCount;

constexpr int64_t kNow = 1'000'000'000;
constexpr int64_t kUsPerSecond = 1'000'000;

class RolloutRulesTest : public testing::Test {
 protected:
  RolloutRulesTest() {
    RolloutPlan& plan = *rollout_.mutable_plan();
    plan.add_shares(0.2);
    plan.add_shares(0.5);
    plan.add_margins(0.2);
    plan.add_margins(0.1);
    plan.set_min_decisions(100);
    plan.set_min_seconds(60);
    plan.set_max_seconds(1000);
    rollout_.set_canary_version(8);
    rollout_.set_stable_version(7);
    rollout_.set_started_us(kNow - 100 * kUsPerSecond);
    rollout_.set_stage_started_us(kNow - 60 * kUsPerSecond);
  }

  void AddGuardrail(const std::string& name) {
    rollout_.mutable_plan()->add_rewards(name + "=" + name + ".csv@horizon=1d");
    rollout_.mutable_plan()->add_guardrails(name + ":0.1");
    rollout_.mutable_plan()->add_reward_ranges(name + ":0:1");
  }

  RolloutEvidence NewEvidence() {
    auto limits = LimitsOf(rollout_.plan());
    EXPECT_OK(limits);
    return {rollout_.plan(), *limits};
  }

  // Adds `n` rounds of each arm, one decision each, with rewards in their
  // units.
  void Play(int n, double canary, double stable, RolloutEvidence* evidence,
            const std::vector<double>& guarded = {}) {
    for (int i = 0; i < 2 * n; ++i) {
      const bool is_canary = i % 2 == 0;
      const UnitRound round{
          .share = 0.2, .is_canary = is_canary, .canary_probability = 0.5};
      evidence->Take(round,
                     {.decisions = 1, .mean = is_canary ? canary : stable});
      for (size_t k = 0; k < guarded.size(); ++k) {
        evidence->Take(round, {.outcome = static_cast<uint32_t>(k + 1),
                               .decisions = 1,
                               .mean = is_canary ? guarded[k] : 0.5});
      }
    }
  }

  void UseAbsoluteMargins(const std::vector<double>& margins) {
    rollout_.mutable_plan()->clear_margins();
    for (const double margin : margins) {
      rollout_.mutable_plan()->add_absolute_margins(margin);
    }
  }

  RolloutVerdict Judge(const RolloutEvidence& evidence,
                       const ServerFinding& servers = {},
                       int64_t now_us = kNow) {
    return JudgeRollout(rollout_, evidence, servers, now_us);
  }

  model::v1::Rollout rollout_;
};

TEST_F(RolloutRulesTest, MovesOnOnlyWithDecisionsAndTimeEnough) {
  RolloutEvidence evidence = NewEvidence();
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kWait);
  Play(49, 0.9, 0.2, &evidence);
  const RolloutVerdict few = Judge(evidence);
  EXPECT_EQ(few.action, RolloutAction::kWait);
  EXPECT_EQ(few.reason, "the stage has 98 decisions of at least 100");
  Play(1, 0.9, 0.2, &evidence);
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kMoveOn);
  const RolloutVerdict early = Judge(evidence, {}, kNow - kUsPerSecond);
  EXPECT_EQ(early.action, RolloutAction::kWait);
  EXPECT_EQ(early.reason, "the stage has lasted 59 s of at least 60 s");
}

TEST_F(RolloutRulesTest, HarmToServersComesFirst) {
  RolloutEvidence evidence = NewEvidence();
  Play(100, 0.9, 0.2, &evidence);
  const RolloutVerdict verdict =
      Judge(evidence, {.is_known = true, .harm = "it burns"});
  EXPECT_EQ(verdict.action, RolloutAction::kGoBack);
  EXPECT_EQ(verdict.reason, "it burns");
}

TEST_F(RolloutRulesTest, GoesBackForLessRewardWheneverItWasSure) {
  RolloutEvidence evidence = NewEvidence();
  Play(100, 0.2, 0.9, &evidence);
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kGoBack);
  // What came later does not make it undone.
  Play(1000, 0.9, 0.2, &evidence);
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kGoBack);
}

TEST_F(RolloutRulesTest, GoesBackIfUndecidedForLong) {
  RolloutEvidence evidence = NewEvidence();
  const int64_t end = rollout_.started_us() + 1000 * kUsPerSecond;
  EXPECT_EQ(Judge(evidence, {}, end - 1).action, RolloutAction::kWait);
  EXPECT_EQ(Judge(evidence, {}, end).action, RolloutAction::kGoBack);
  rollout_.mutable_plan()->set_max_seconds(0);
  EXPECT_EQ(Judge(evidence, {}, end).action, RolloutAction::kWait);
}

TEST_F(RolloutRulesTest, GuardrailsShareTheErrorAndMustHoldInTheEnd) {
  AddGuardrail("clicks");
  AddGuardrail("calm");
  EXPECT_DOUBLE_EQ(BackNeeded(rollout_.plan()), 150);
  RolloutEvidence evidence = NewEvidence();
  // The first falls by 0.05, which is allowed and not yet sure.
  Play(70, 0.9, 0.2, &evidence, {0.45, 0.5});
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kMoveOn);
  rollout_.set_stage(1);
  rollout_.mutable_plan()->set_shares(1, 0.2);
  const RolloutVerdict last = Judge(evidence);
  EXPECT_EQ(last.action, RolloutAction::kWait);
  EXPECT_THAT(last.reason, HasSubstr("guardrail clicks is not yet sure"));
  Play(20000, 0.9, 0.2, &evidence, {0.45, 0.5});
  EXPECT_EQ(Judge(evidence).action, RolloutAction::kMoveOn);
  RolloutEvidence harmed = NewEvidence();
  Play(400, 0.9, 0.2, &harmed, {0.5, 0.1});
  const RolloutVerdict back = Judge(harmed);
  EXPECT_EQ(back.action, RolloutAction::kGoBack);
  EXPECT_THAT(back.reason,
              HasTexts("guardrail calm falls by 0.40", "and 0.1 is allowed"));
}

TEST_F(RolloutRulesTest, NumbersAreInUnitsOfTheReward) {
  UseAbsoluteMargins({0.5, 0.25});
  rollout_.mutable_plan()->set_reward_min(-10);
  rollout_.mutable_plan()->set_reward_max(30);
  RolloutEvidence evidence = NewEvidence();
  EXPECT_DOUBLE_EQ(evidence.Cut(0, 10), 10);
  EXPECT_DOUBLE_EQ(evidence.Cut(0, -50), -10);
  EXPECT_DOUBLE_EQ(evidence.Cut(0, 31), 30);
  EXPECT_DOUBLE_EQ(evidence.Cut(0, std::nan("")), -10);
  Play(200, 14, 10, &evidence);
  const config::v1::RolloutStep step = NumbersOf(rollout_, evidence);
  EXPECT_NEAR(step.canary().mean(), 14, 1e-9);
  EXPECT_NEAR(step.stable().mean(), 10, 1e-9);
  EXPECT_NEAR(step.difference(), 4, 0.1);
  EXPECT_LT(step.lower(), 4);
  EXPECT_GT(step.upper(), 4);
  EXPECT_EQ(step.canary().units(), 200u);
  EXPECT_EQ(step.stage_decisions(), 400u);
  EXPECT_DOUBLE_EQ(step.allowed_loss(), 0.5);
  EXPECT_FALSE(step.canary().has_answers());
}

TEST_F(RolloutRulesTest, AVoidRoundBetsNothing) {
  RolloutEvidence evidence = NewEvidence();
  const UnitRound round{.share = 0.2, .canary_probability = 0.5};
  for (const RoundVoid why : {RoundVoid::kCensored, RoundVoid::kGone}) {
    evidence.Take(round, {.why_void = why});
  }
  EXPECT_EQ(evidence.Of(0).num_rounds(), 0u);
  EXPECT_EQ(evidence.num_decisions(), 0u);
}

// Adds `n` rounds, of which the first decision of a share is censored.
void AddRounds(int n, double q, double censored_canary, double censored_stable,
               ArmCensoring* censoring) {
  for (int i = 0; i < n; ++i) {
    const double part = (i + 0.5) / n;
    const bool is_canary = part < q;
    const double censored =
        is_canary ? censored_canary * q : q + censored_stable * (1 - q);
    censoring->Add(
        {.is_canary = is_canary, .canary_probability = q},
        part < censored ? RoundVoid::kCensored : RoundVoid::kNotVoid);
  }
}

TEST(ArmCensoringTest, FindsArmsThatDiffer) {
  ArmCensoring even;
  AddRounds(20000, 0.1, 0.2, 0.2, &even);
  EXPECT_FALSE(even.Difference().has_value());
  ArmCensoring canary;
  AddRounds(20000, 0.1, 0.3, 0.2, &canary);
  EXPECT_THAT(*canary.Difference(),
              HasTexts("30 % of the canary's", "20 % of the stable"));
  ArmCensoring stable;
  AddRounds(20000, 0.1, 0.1, 0.2, &stable);
  EXPECT_TRUE(stable.Difference().has_value());
  // The same shares prove nothing of 20 units.
  ArmCensoring few;
  AddRounds(20, 0.5, 0.3, 0.2, &few);
  EXPECT_FALSE(few.Difference().has_value());
  ArmCensoring gone;
  for (int i = 0; i < 1000; ++i) {
    gone.Add({.is_canary = true, .canary_probability = 0.5}, RoundVoid::kGone);
  }
  EXPECT_FALSE(gone.Difference().has_value());
}

// An hour in which half was censored, while the canary had 1 %.
TEST(ArmCensoringTest, TimesOfTroubleAreNoDifference) {
  ArmCensoring censoring;
  AddRounds(20000, 0.01, 0.5, 0.5, &censoring);
  AddRounds(20000, 0.5, 0, 0, &censoring);
  EXPECT_FALSE(censoring.Difference().has_value());
}

// Where the stable version earns -0.02, 20 % of |-0.02| less are -0.024.
TEST_F(RolloutRulesTest, MarginsOfNegativeRewardsAreOfTheReward) {
  rollout_.mutable_plan()->set_reward_min(-1);
  rollout_.mutable_plan()->set_reward_max(0);
  RolloutEvidence allowed = NewEvidence();
  Play(10000, -0.022, -0.02, &allowed);
  EXPECT_GT(allowed.Next(0).bets().MostLogEvidence(), std::log(100));
  RolloutEvidence more = NewEvidence();
  Play(10000, -0.0245, -0.02, &more);
  EXPECT_LT(more.Next(0).bets().MostLogEvidence(), std::log(2));
  const config::v1::RolloutStep step = NumbersOf(rollout_, more);
  EXPECT_NEAR(step.allowed_loss(), 0.004, 1e-9);
  EXPECT_THAT(VerdictSentence(rollout_, {}, step, {}, false),
              HasTexts("less than version 7, which earns -0.02 (-22.3 %,",
                       "the evidence that it earns at least -0.024, at most "
                       "0.004 less (20 % of |-0.02|), is"));
}

// The same for rewards that are far above their smallest one: 20 % of 100.5 is
// more than the whole range.
TEST_F(RolloutRulesTest, MarginsOfLargeRewardsAreOfTheReward) {
  rollout_.mutable_plan()->set_reward_min(100);
  rollout_.mutable_plan()->set_reward_max(101);
  RolloutEvidence evidence = NewEvidence();
  Play(100, 100.2, 100.8, &evidence);
  EXPECT_GT(evidence.Next(0).bets().MostLogEvidence(), std::log(100));
}

// If the loss equals the margin, the expected evidence is 1, whatever the range
// of the rewards.
TEST_F(RolloutRulesTest, ALossOfTheMarginIsFair) {
  struct Range {
    double min;
    double max;
    double stable;
  };
  for (const Range& range : {Range{0, 1, 0.5}, Range{-1, 0, -0.5},
                             Range{2, 4, 3}, Range{-4, -2, -3}}) {
    const double q = 0.3;
    RolloutPlan& plan = *rollout_.mutable_plan();
    plan.set_reward_min(range.min);
    plan.set_reward_max(range.max);
    plan.set_margins(0, 0.1);
    const double canary = range.stable - 0.1 * std::abs(range.stable);
    double expected = 0;
    for (int first = 0; first < 4; ++first) {
      for (int second = 0; second < 4; ++second) {
        RolloutEvidence evidence = NewEvidence();
        double probability = 1;
        for (const int draw : {first, second}) {
          const bool is_canary = (draw & 1) != 0;
          const bool is_high = (draw & 2) != 0;
          const double mean = is_canary ? canary : range.stable;
          const double high = (mean - range.min) / (range.max - range.min);
          probability *= (is_canary ? q : 1 - q) * (is_high ? high : 1 - high);
          evidence.Take(
              {.share = q, .is_canary = is_canary, .canary_probability = q},
              {.decisions = 1, .mean = is_high ? range.max : range.min});
        }
        expected +=
            probability * std::exp(evidence.Next(0).bets().LogEvidence());
      }
    }
    EXPECT_NEAR(expected, 1, 1e-9) << range.min;
  }
}

RolloutPlan PlanOf(const std::vector<double>& shares,
                   const std::vector<double>& margins) {
  RolloutPlan plan;
  for (const double share : shares) plan.add_shares(share);
  for (const double margin : margins) plan.add_margins(margin);
  return plan;
}

TEST(RolloutPlanTest, HasThreeStagesUnlessTheyAreGiven) {
  ASSERT_OK_AND_ASSIGN(const RolloutPlan plan, CompletePlan({}));
  EXPECT_THAT(plan.shares(), ElementsAre(0.01, 0.1, 0.5));
  EXPECT_THAT(plan.margins(), ElementsAre(0.2, 0.03, 0.01));
  EXPECT_EQ(PlacesOfShare(0.01), 100u);
  ASSERT_OK_AND_ASSIGN(const RolloutPlan one,
                       CompletePlan(PlanOf({0.25}, {0})));
  EXPECT_THAT(one.shares(), ElementsAre(0.25));
}

struct BadPlan {
  RolloutPlan plan;
  std::string message;
};

TEST(RolloutPlanTest, NamesWhatIsWrong) {
  RolloutPlan range = PlanOf({0.1}, {0.1});
  range.set_reward_max(-1);
  RolloutPlan either_sign;
  either_sign.set_reward_min(-1);
  RolloutPlan both = PlanOf({0.1}, {0.1});
  both.add_absolute_margins(0.1);
  RolloutPlan absolute = PlanOf({0.1, 0.5}, {});
  absolute.add_absolute_margins(0.1);
  RolloutPlan guardrail = PlanOf({0.1}, {0.1});
  guardrail.add_rewards("clicks=clicks.csv@horizon=1d");
  guardrail.add_guardrails("clicks:0.5");
  RolloutPlan allowed = guardrail;
  allowed.add_reward_ranges("clicks:0:0.1");
  RolloutPlan percent = PlanOf({0.1, 0.5}, {});
  percent.add_absolute_margins(0.5);
  percent.add_absolute_margins(3);
  RolloutPlan unguarded = PlanOf({0.1}, {0.1});
  unguarded.add_rewards("clicks=clicks.csv@horizon=1d");
  const std::vector<BadPlan> cases = {
      {percent,
       "plan.absolute_margins has 3 as entry 2: must be in [0, 1), where 1 is "
       "plan.reward_max - plan.reward_min"},
      {unguarded, "plan.rewards has 'clicks', must be one of plan.guardrails"},
      {PlanOf({0.5, 0.1}, {0, 0}), "plan.shares has 0.1 after 0.5"},
      {PlanOf({0.00005}, {0}), "in steps of 0.0001"},
      {PlanOf({1}, {0}), "in (0, 1)"},
      {PlanOf({0.1, 0.5}, {0.1}),
       "plan.margins has 1 entries: must have one for each of the 2 shares"},
      {PlanOf({}, {0.1}), "plan.shares is empty"},
      {absolute, "plan.absolute_margins has 1 entries"},
      {both, "plan.margins and plan.absolute_margins are both given"},
      {either_sign,
       "may be 0 between plan.reward_min = -1 and plan.reward_max = 1: give "
       "plan.absolute_margins instead"},
      {range, "plan.reward_max = -1: must be above reward_min = 0"},
      {guardrail, "plan.reward_ranges lacks 'clicks'"},
      {allowed, "plan.guardrails has clicks:0.5: must be at most 0.1"}};
  for (const BadPlan& each : cases) {
    EXPECT_THAT(CompletePlan(each.plan), IsInvalidArgument(each.message));
  }
}

// The short form of bench/rollout: how rollouts of known versions end.

constexpr uint64_t kRuns = 40;

struct Ends {
  int back = 0;
  int half = 0;
  int all = 0;
};

// Rollouts whose tuples have all defects at once.

SimulatedRollout RunOne(RolloutWorld world, uint64_t run) {
  world.mean_reward = 0.6;
  return SimulateRollout(world, SimulationPlan({0.1, 0.5}, {0.03, 0.01}), run);
}

constexpr uint64_t kFewRuns = 8;

TEST(SimulatedRolloutsTest, AProbeProvesNothing) {
  for (uint64_t run = 0; run < kFewRuns; ++run) {
    const SimulatedRollout rollout =
        RunOne({.effect = -0.1, .probe = 0.1, .most_decisions = 60'000}, run);
    EXPECT_EQ(rollout.stages_passed, 0u) << run;
  }
}

TEST(SimulatedRolloutsTest, TuplesThatAreRemovedBeginNothingAnew) {
  for (uint64_t run = 0; run < kFewRuns; ++run) {
    const SimulatedRollout rollout =
        RunOne({.remove = 0.4, .restart = 0.1, .most_decisions = 100'000}, run);
    EXPECT_NE(rollout.end, RolloutAction::kGoBack) << run;
  }
}

TEST(SimulatedRolloutsTest, AWorseVersionGoesBackWhateverIsCensored) {
  for (uint64_t run = 0; run < kFewRuns; ++run) {
    const SimulatedRollout rollout = RunOne({.effect = -0.1,
                                             .loyal_arm = LoyalArm::kCanary,
                                             .censored = 0.4,
                                             .most_decisions = 200'000},
                                            run);
    EXPECT_EQ(rollout.end, RolloutAction::kGoBack) << run;
  }
}

Ends RunMany(double effect) {
  // Without the first stage, which takes most of the time.
  const config::v1::RolloutPlan plan = SimulationPlan({0.1, 0.5}, {0.03, 0.01});
  Ends ends;
  for (uint64_t run = 0; run < kRuns; ++run) {
    const SimulatedRollout rollout =
        SimulateRollout({.mean_reward = 0.6,
                         .effect = effect,
                         .look_every = 1000,
                         .most_decisions = 1'000'000},
                        plan, run);
    ends.back += rollout.end == RolloutAction::kGoBack ? 1 : 0;
    ends.half += rollout.stages_passed >= 1 ? 1 : 0;
    ends.all += rollout.stages_passed == 2 ? 1 : 0;
  }
  return ends;
}

TEST(SimulatedRolloutsTest, WorseVersionsGoBackAndNoneReachesHalf) {
  const Ends ends = RunMany(-0.05);
  EXPECT_EQ(ends.half, 0);
  EXPECT_EQ(ends.back, static_cast<int>(kRuns));
}

TEST(SimulatedRolloutsTest, BetterVersionsServeAllAndFewGoBack) {
  const Ends ends = RunMany(0.05);
  EXPECT_GE(ends.all, static_cast<int>(kRuns) * 9 / 10);
  EXPECT_LE(ends.back, 1);
}

Rollout NewRollout() {
  Rollout rollout;
  rollout.set_canary_version(8);
  rollout.set_stable_version(7);
  return rollout;
}

VersionCount Count(double answers, double errors, double seconds = 1) {
  VersionCount count;
  count.set_answers(answers);
  count.set_errors(errors);
  count.set_seconds(seconds);
  return count;
}

TEST(ServerCountsTest, ReadsWhatTheMetricsOfAServerSay) {
  Metrics metrics;
  const auto counter = [&](const std::string& model, const std::string& version,
                           const std::string& code) {
    return metrics.Counter(
        "sortition_version_answers_total", "help",
        {{"model", model}, {"version", version}, {"code", code}});
  };
  counter("default", "7", "OK")->Increment(1000000);
  counter("default", "7", "UNAVAILABLE")->Increment(3);
  counter("default", "7", "OTHER")->Increment(2);
  counter("default", "8", "OK")->Increment(5);
  counter("another", "8", "OK")->Increment(70);
  metrics
      .Counter("sortition_version_seconds_total", "help",
               {{"model", "default"}, {"version", "7"}})
      ->Increment(12.5);
  auto counts = ParseVersionCounts(metrics.Text(), "default");
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[7].answers(), 1000005);
  EXPECT_EQ(counts[7].errors(), 5);
  EXPECT_EQ(counts[7].seconds(), 12.5);
  EXPECT_EQ(counts[8].answers(), 5);
  EXPECT_EQ(counts[8].errors(), 0);
}

TEST(ServerCountsTest, PassesOverWhatItDoesNotKnow) {
  EXPECT_TRUE(ParseVersionCounts("", "default").empty());
  EXPECT_TRUE(
      ParseVersionCounts("sortition_version_answers_total 7\n"
                         "sortition_version_answers_total{model=\"default\"\n"
                         "sortition_version_answers_total}{ 1\n"
                         "sortition_version_answers_total{model=\"default\","
                         "version=\"x\",code=\"OK\"} 1\n"
                         "sortition_version_answers_total{model=\"default\","
                         "version=\"1\",code=\"OK\"} NaN\n",
                         "default")
          .empty());
}

TEST(ServerCountsTest, CountsWhatIsNewOfEachServer) {
  Rollout rollout = NewRollout();
  AddServerCounts("a", {{7, Count(100, 10)}}, &rollout);  // Not of the stage.
  AddServerCounts("b", {{7, Count(50, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 0);
  AddServerCounts("a", {{7, Count(130, 11)}, {8, Count(4, 1)}}, &rollout);
  AddServerCounts("b", {{7, Count(60, 0)}, {9, Count(5, 5)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 40);
  EXPECT_EQ(rollout.stable().errors(), 1);
  EXPECT_EQ(rollout.canary().answers(), 4);
  EXPECT_EQ(rollout.canary().errors(), 1);
  // Server a has started again and has answered 7 since.
  AddServerCounts("a", {{7, Count(7, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 47);
  BeginStageCounts(&rollout);
  AddServerCounts("a", {{7, Count(9, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 2);
}

Rollout WithCounts(const VersionCount& canary, const VersionCount& stable,
                   uint64_t looks = 1) {
  Rollout rollout = NewRollout();
  *rollout.mutable_canary() = canary;
  *rollout.mutable_stable() = stable;
  rollout.set_looks(looks);
  return rollout;
}

TEST(ServerCountsTest, ErrorsCountIfTheyAreSurelyMoreThanAllowed) {
  const config::v1::RolloutPlan plan;
  EXPECT_FALSE(JudgeServers(plan, NewRollout()).is_known);
  const auto harm = [&](const Rollout& rollout) {
    return JudgeServers(plan, rollout).harm.value_or("");
  };
  EXPECT_EQ(harm(WithCounts(Count(1000, 10), Count(1000, 10))), "");
  // 1 % more is allowed, and 2 of 100 may be chance.
  EXPECT_EQ(harm(WithCounts(Count(100, 2), Count(10000, 0))), "");
  EXPECT_EQ(harm(WithCounts(Count(100000, 1000), Count(100000, 0))), "");
  EXPECT_THAT(harm(WithCounts(Count(100000, 1200), Count(100000, 0))),
              HasSubstr("errors in 1.2 % (1200 of 100000), those of version 7 "
                        "in 0 %"));
  // The same after many looks is not sure any more: each has less to spend.
  const VersionCount few = Count(100, 9);
  EXPECT_NE(harm(WithCounts(few, Count(10000, 0), 1)), "");
  EXPECT_EQ(harm(WithCounts(few, Count(10000, 0), 1000)), "");
}

TEST(ServerCountsTest, TimesAreComparedOnceThereAreEnough) {
  config::v1::RolloutPlan plan;
  plan.set_latency_ratio(2);
  const auto harm = [&](const Rollout& rollout) {
    return JudgeServers(plan, rollout).harm.value_or("");
  };
  EXPECT_EQ(harm(WithCounts(Count(999, 0, 9.99), Count(9999, 0, 9.999))), "");
  EXPECT_THAT(harm(WithCounts(Count(1000, 0, 10), Count(10000, 0, 10))),
              HasSubstr("take 10 ms, those of version 7 1 ms, and 2 times"));
  EXPECT_EQ(harm(WithCounts(Count(1000, 0, 1.99), Count(10000, 0, 10))), "");
  plan.set_latency_ratio(0);
  EXPECT_EQ(harm(WithCounts(Count(1000, 0, 10), Count(10000, 0, 10))), "");
}

// Half of the counters would look like a server that was started anew.
TEST(ServerCountsTest, AnAnswerThatEndsTooEarlyCountsNothing) {
  HostilePeer server([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(
        fd,
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        "sortition_version_answers_total{model=\"m\",version=\"7\"} 1\n");
  });
  EXPECT_THAT(
      FetchServerCounts(server.address(), "m"),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr(server.address())));
}

}  // namespace
}  // namespace sortition
