#include "trainer/rollout/rollout_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using testing::ElementsAre;
using testing::HasSubstr;

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
  RolloutPlan guardrail = PlanOf({0.1}, {0.1});
  guardrail.add_rewards("clicks=clicks.csv");
  guardrail.add_guardrails("clicks:0.5");
  RolloutPlan allowed = guardrail;
  allowed.add_reward_ranges("clicks:0:0.1");
  const std::vector<BadPlan> cases = {
      {PlanOf({0.5, 0.1}, {0, 0}), "plan.shares has 0.1 after 0.5"},
      {PlanOf({0.00005}, {0}), "in steps of 0.0001"},
      {PlanOf({1}, {0}), "in (0, 1)"},
      {PlanOf({0.1, 0.5}, {0.1}),
       "plan.margins has 1 entries: must have one for each of the 2 shares"},
      {PlanOf({}, {0.1}), "plan.shares is empty"},
      {range, "plan.reward_max = -1: must be above reward_min = 0"},
      {guardrail, "plan.reward_ranges lacks 'clicks'"},
      {allowed, "plan.guardrails has clicks:0.5: must be at most 0.1"}};
  for (const BadPlan& each : cases) {
    EXPECT_THAT(
        CompletePlan(each.plan).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(each.message)));
  }
}

}  // namespace
}  // namespace sortition
