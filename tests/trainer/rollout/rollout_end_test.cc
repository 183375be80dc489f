// How rollouts end that are not finished.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "process/metrics.h"
#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/rollout/rollout.h"

namespace sortition {
namespace {

using model::v1::Rollout;
using model::v1::Serving;
using testing::AllOf;
using testing::HasSubstr;

class RolloutEndTest : public RolloutFixture {
 protected:
  void ExpectBack() {
    EXPECT_EQ(NowServing().pinned_version(), 1u);
    EXPECT_FALSE(NowServing().has_split());
    EXPECT_EQ(NowServing().caller(), kRolloutCaller);
    EXPECT_EQ(NowRollout().outcome(), Rollout::BACK);
  }
};

TEST_F(RolloutEndTest, GoesBackFromWhatEarnsLess) {
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.3, .stable = 0.6});
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              AllOf(HasSubstr("Version 2 goes back from 10 % to 0 %: it earns"),
                    HasSubstr(" less than version 1, which earns 0."),
                    HasSubstr("the evidence that it earns less is"),
                    HasSubstr(" of 50;")));
  EXPECT_EQ(report.share(), 0);
  EXPECT_LT(report.step().upper(), 0);
  ExpectBack();
  // The next one draws anew who comes to the canary.
  const std::string salt = NowRollout().salt();
  ASSERT_OK(Start());
  EXPECT_NE(NowRollout().salt(), salt);
}

TEST_F(RolloutEndTest, GoesBackForAGuardrail) {
  config::v1::RolloutPlan& plan = *options_.mutable_plan();
  const std::string file = dir_.path() + "/complaints.csv";
  plan.add_rewards("complaints=" + file);
  plan.add_guardrails("complaints:0.05");
  plan.add_reward_ranges("complaints:-1:0");
  ASSERT_OK(WriteFile(file, "decision_id,reward\n"));
  ASSERT_OK(Start());
  const auto tuples = MakeUnits(2000, {.canary = 0.6, .stable = 0.5});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  std::string rows = "decision_id,reward\n";
  for (size_t i = 0; i < tuples.size(); ++i) {
    // Of the canary's decisions half have a complaint.
    if (tuples[i].decision().version() == 2 && i % 2 == 0) {
      rows += tuples[i].decision().decision_id() + ",-1\n";
    }
  }
  ASSERT_OK(WriteFile(file, rows));
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_THAT(
      report.step().sentence(),
      AllOf(HasSubstr("goes back"),
            testing::ContainsRegex("guardrail complaints falls by 0\\.[3-6]"),
            HasSubstr("0.05 is allowed"), HasSubstr(" of 100)")));
  ASSERT_EQ(report.step().guardrails_size(), 1);
  EXPECT_LT(report.step().guardrails(0).evidence_holds(), 2);
  ExpectBack();
}

TEST_F(RolloutEndTest, GoesBackForErrorsOfTheServers) {
  Metrics metrics;
  const auto count = [&](const char* version, const char* code, double by) {
    metrics
        .Counter("sortition_version_answers_total", "",
                 {{"model", "default"}, {"version", version}, {"code", code}})
        ->Increment(by);
  };
  // From before the rollout: of no concern.
  count("1", "OK", 1000);
  count("1", "UNAVAILABLE", 900);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  options_.set_metrics(absl::StrCat("127.0.0.1:", port));
  ASSERT_OK(Start());
  Log(60, {});
  count("1", "OK", 900);
  count("2", "OK", 100);
  ASSERT_OK_AND_ASSIGN(auto report, StepRollout(options_));
  EXPECT_EQ(report.step().action(), "WAIT");
  EXPECT_EQ(report.step().stable().answers(), 900u);
  EXPECT_EQ(report.step().stable().errors(), 0u);
  EXPECT_EQ(report.step().canary().answers(), 100u);
  EXPECT_THAT(report.step().sentence(),
              testing::Not(HasSubstr("errors and times")));
  count("1", "OK", 900);
  count("2", "INVALID_ARGUMENT", 20);
  count("2", "OK", 80);
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("its answers are errors in 10 % (20 of 200), those of "
                        "version 1 in 0 % (0 of 1800), and 1 % more are "
                        "allowed"));
  ExpectBack();
}

TEST_F(RolloutEndTest, ServersThatDoNotAnswerStopNothing) {
  options_.set_metrics("127.0.0.1:1");
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_THAT(
      report.step().sentence(),
      AllOf(HasSubstr("moves on"),
            HasSubstr("the servers have not counted answers of both yet")));
}

TEST_F(RolloutEndTest, GoesBackIfNothingIsDecidedInTime) {
  options_.mutable_plan()->set_max_seconds(1e-6);
  ASSERT_OK(Start());
  Log(60, {});
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              AllOf(HasSubstr("goes back from 10 %"),
                    HasSubstr("nothing was decided in")));
  ExpectBack();
}

TEST_F(RolloutEndTest, LeavesWhatAPersonChanged) {
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.3, .stable = 0.6});
  ASSERT_OK(
      ChangeServing(ModelDir(), {"I know better", "alice"}, [](Serving* state) {
        state->clear_split();
        state->set_pinned_version(2);
        return absl::OkStatus();
      }));
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.outcome(), "STOPPED");
  EXPECT_EQ(report.step().action(), "STOP");
  EXPECT_THAT(report.step().sentence(),
              AllOf(HasSubstr("stops at 10 %, for somebody else changed what "
                              "serves: change 2 at "),
                    HasSubstr(" by alice (I know better)")));
  EXPECT_EQ(NowServing().pinned_version(), 2u);
  EXPECT_EQ(NowServing().caller(), "alice");
}

TEST_F(RolloutEndTest, LeavesWhatWasEditedByHand) {
  ASSERT_OK(Start());
  Log(60, {});
  Serving serving = NowServing();
  std::string text;
  serving.mutable_split()->mutable_arms(0)->mutable_ranges(0)->set_end(2000);
  google::protobuf::TextFormat::PrintToString(serving, &text);
  ASSERT_OK(WriteFile(ModelDir() + "/SERVING.textproto", text));
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.outcome(), "STOPPED");
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("SERVING.textproto was edited by hand"));
  EXPECT_EQ(*ReadFile(ModelDir() + "/SERVING.textproto"), text);
}

TEST_F(RolloutEndTest, LabelsOfOthersAreOfNoConcern) {
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK(
      ChangeServing(ModelDir(), {"for tests", "alice"}, [](Serving* state) {
        auto* label = state->add_labels();
        label->set_name("canary");
        label->set_version(2);
        return absl::OkStatus();
      }));
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.step().action(), "MOVE_ON");
  EXPECT_EQ(NowServing().labels_size(), 1);
}

TEST_F(RolloutEndTest, StopsWhenItIsTold) {
  ASSERT_OK(Start());
  const std::string serving = *ReadFile(ModelDir() + "/SERVING.textproto");
  options_.set_reason("the shop closes");
  ASSERT_OK_AND_ASSIGN(const auto report, StopRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("was stopped at 10 %, and what serves stays as it is: "
                        "the shop closes."));
  EXPECT_EQ(*ReadFile(ModelDir() + "/SERVING.textproto"), serving);
  EXPECT_EQ(NowRollout().outcome(), Rollout::STOPPED);
  Log(2000, {.canary = 0.3, .stable = 0.6});
  ASSERT_OK(StepRollout(options_));
  EXPECT_EQ(*ReadFile(ModelDir() + "/SERVING.textproto"), serving);
}

}  // namespace
}  // namespace sortition
