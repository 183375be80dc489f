#include "trainer/rollout/rollout_rules.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using testing::HasSubstr;

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
    rollout_.mutable_plan()->add_rewards(name + "=" + name + ".csv");
    rollout_.mutable_plan()->add_guardrails(name + ":0.1");
    rollout_.mutable_plan()->add_reward_ranges(name + ":0:1");
  }

  RolloutEvidence NewEvidence() {
    auto limits = LimitsOf(rollout_.plan());
    EXPECT_OK(limits);
    return {rollout_.plan(), *limits};
  }

  // Adds `n` rounds of each arm, one decision each.
  void Play(int n, double canary, double stable, RolloutEvidence* evidence,
            const std::vector<double>& guarded = {}) {
    for (int i = 0; i < 2 * n; ++i) {
      const bool is_canary = i % 2 == 0;
      UnitRound round{.is_canary = is_canary,
                      .canary_probability = 0.5,
                      .share = 0.2,
                      .decisions = 1,
                      .means = {is_canary ? canary : stable}};
      for (const double of_canary : guarded) {
        round.means.push_back(is_canary ? of_canary : 0.5);
      }
      evidence->Take(round);
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
              testing::AllOf(HasSubstr("guardrail calm falls by 0.40"),
                             HasSubstr("and 0.1 is allowed")));
}

TEST_F(RolloutRulesTest, NumbersAreInUnitsOfTheReward) {
  rollout_.mutable_plan()->set_reward_min(-10);
  rollout_.mutable_plan()->set_reward_max(30);
  RolloutEvidence evidence = NewEvidence();
  EXPECT_DOUBLE_EQ(evidence.Scale(0, 10), 0.5);
  EXPECT_DOUBLE_EQ(evidence.Scale(0, -50), 0);
  EXPECT_DOUBLE_EQ(evidence.Scale(0, 31), 1);
  Play(200, 0.6, 0.5, &evidence);
  const config::v1::RolloutStep step = NumbersOf(rollout_, evidence);
  EXPECT_NEAR(step.canary().mean(), 14, 1e-9);
  EXPECT_NEAR(step.stable().mean(), 10, 1e-9);
  EXPECT_NEAR(step.difference(), 4, 0.1);
  EXPECT_LT(step.lower(), 4);
  EXPECT_GT(step.upper(), 4);
  EXPECT_EQ(step.canary().units(), 200u);
  EXPECT_EQ(step.stage_decisions(), 400u);
  EXPECT_FALSE(step.canary().has_answers());
}

}  // namespace
}  // namespace sortition
