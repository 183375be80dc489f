// Steps that cannot judge everything.
#include "process/metrics.h"
#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/rollout/rollout_text.h"

namespace sortition {
namespace {

using config::v1::RolloutReport;
using model::v1::Rollout;

constexpr Earnings kBetter = {.canary = 0.6, .stable = 0.5};
constexpr Earnings kWorse = {.canary = 0.3, .stable = 0.6};

class RolloutProblemsTest : public RolloutFixture {
 protected:
  // Begins a rollout with a guardrail whose file is not there.
  std::string StartWithBrokenGuardrail() {
    std::string file = AddGuardrail("complaints");
    EXPECT_OK(Start());
    return file;
  }

  void WriteComplaints(const std::string& file, const std::string& rows) {
    ASSERT_OK(WriteFile(
        file, "decision_id,reward\n" + rows + ThroughLine(absl::Now())));
  }
};

TEST_F(RolloutProblemsTest, ABrokenGuardrailFileKeepsFromMovingOn) {
  const std::string file = StartWithBrokenGuardrail();
  const auto tuples = MakeUnits(2000, kBetter);
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "WAIT");
  ASSERT_EQ(report.problems_size(), 1);
  EXPECT_THAT(report.problems(0),
              HasTexts("guardrail complaints is not judged", file));
  EXPECT_THAT(report.step().sentence(),
              HasTexts("waits at 10 %: ATTENTION: guardrail complaints is not "
                       "judged in this step: ",
                       file, "it does not move on before that is judged"));
  EXPECT_EQ(report.step().decisions(), 2000u);
  ASSERT_EQ(report.ledger().guardrails_size(), 1);
  EXPECT_EQ(report.ledger().guardrails(0).closed(), 0u);
  // Its rounds were left open.
  WriteComplaints(file, tuples[0].decision().decision_id() + ",0\n");
  const RolloutReport repaired = Step();
  EXPECT_EQ(repaired.step().action(), "MOVE_ON");
  EXPECT_EQ(repaired.problems_size(), 0);
  EXPECT_EQ(repaired.ledger().guardrails(0).closed(), 2000u);
}

TEST_F(RolloutProblemsTest, ABrokenGuardrailFileDoesNotHideLessReward) {
  StartWithBrokenGuardrail();
  Log(2000, kWorse);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "GO_BACK");
  EXPECT_EQ(report.problems_size(), 1);
  EXPECT_EQ(NowRollout().outcome(), Rollout::BACK);
}

TEST_F(RolloutProblemsTest, ABrokenGuardrailFileDoesNotHideErrorsOfServers) {
  Metrics metrics;
  const auto count = [&](const char* version, const char* code, double by) {
    metrics
        .Counter("sortition_version_answers_total", "",
                 {{"model", "default"}, {"version", version}, {"code", code}})
        ->Increment(by);
  };
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  options_.set_metrics(absl::StrCat("127.0.0.1:", port));
  StartWithBrokenGuardrail();
  Log(60, {});
  EXPECT_EQ(Step().step().action(), "WAIT");
  count("1", "OK", 1800);
  count("2", "INVALID_ARGUMENT", 200);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "GO_BACK");
  EXPECT_THAT(report.step().sentence(), HasSubstr("its answers are errors in"));
}

TEST_F(RolloutProblemsTest, ABrokenGuardrailFileDoesNotHideAnotherGuardrail) {
  StartWithBrokenGuardrail();
  const std::string file = AddGuardrail("returns");
  StartAgain();
  const auto tuples = MakeUnits(2000, kBetter);
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  std::string rows;
  for (const log::v1::BanditTuple& tuple : tuples) {
    if (tuple.decision().version() != 2) continue;
    rows += tuple.decision().decision_id() + ",-1\n";
  }
  WriteComplaints(file, rows);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "GO_BACK");
  EXPECT_THAT(report.step().sentence(),
              HasTexts("guardrail complaints is not judged",
                       "guardrail returns falls by"));
}

TEST_F(RolloutProblemsTest, AFileOfAnotherLogIsAProblemOfItsGuardrail) {
  const std::string file = StartWithBrokenGuardrail();
  Log(2000, kBetter);
  WriteComplaints(file, "elsewhere,-1\n");
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "WAIT");
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("0 of its 1 decisions are in the log"));
}

TEST_F(RolloutProblemsTest, TuplesThatCannotBeReadDoNotStopARollback) {
  options_.mutable_plan()->set_max_seconds(1e-6);
  ASSERT_OK(Start());
  options_.set_tuples(dir_.path() + "/nowhere");
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "GO_BACK");
  ASSERT_EQ(report.problems_size(), 1);
  EXPECT_THAT(report.problems(0),
              HasTexts("the tuples cannot be used", dir_.path() + "/nowhere"));
}

// Only the canary earns what cannot be: 100 of 2000.
TEST_F(RolloutProblemsTest, RewardsOutsideOfTheRangeAreNotJudged) {
  ASSERT_OK(Start());
  auto tuples = MakeUnits(2000, {});
  for (log::v1::BanditTuple& tuple : tuples) {
    if (tuple.decision().version() == 2) tuple.set_reward(5);
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "WAIT");
  EXPECT_EQ(report.step().decisions(), 0u);
  EXPECT_EQ(report.ledger().open(), 2000u);
  ASSERT_EQ(report.problems_size(), 1);
  EXPECT_THAT(
      report.problems(0),
      HasTexts("the reward is not judged in this step: reward of decision "
               "'decision-unit-",
               "' is 5, must be in [0, 1]", "--clamp_rewards"));
  options_.mutable_plan()->set_clamp_rewards(true);
  StartAgain();
  RemoveTuples();
  tuples = MakeUnits(2000, {});
  uint64_t num_outside = 0;
  for (log::v1::BanditTuple& tuple : tuples) {
    if (tuple.decision().version() != 2) continue;
    tuple.set_reward(5);
    ++num_outside;
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  const RolloutReport clamped = Step();
  EXPECT_EQ(clamped.step().action(), "MOVE_ON");
  EXPECT_EQ(clamped.ledger().rewards_outside(), num_outside);
  EXPECT_EQ(clamped.step().canary().mean(), 1);
}

TEST_F(RolloutProblemsTest, AFewRewardsOutsideOfTheRangeAreCounted) {
  ASSERT_OK(Start());
  auto tuples = MakeUnits(2000, {});
  int num_outside = 0;
  for (log::v1::BanditTuple& tuple : tuples) {
    if (tuple.decision().version() != 1 || num_outside == 3) continue;
    tuple.set_reward(-2);
    ++num_outside;
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.problems_size(), 0);
  EXPECT_EQ(report.step().decisions(), 2000u);
  EXPECT_EQ(report.ledger().rewards_outside(), 3u);
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("3 rewards are outside of plan.reward_min"));
}

// Of units whose first decision the canary made, half are not known.
TEST_F(RolloutProblemsTest, CensoringByArmKeepsFromMovingOn) {
  ASSERT_OK(Start());
  auto tuples = MakeUnits(2000, {.canary = 0.9, .stable = 0.4});
  for (size_t i = 0; i < tuples.size(); i += 2) {
    if (tuples[i].decision().version() == 2) {
      tuples[i].add_censored(log::v1::LOST);
    }
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().action(), "WAIT");
  EXPECT_THAT(
      report.step().sentence(),
      HasTexts("the reward is unknown for the first decisions of ",
               "of 0 % of the stable version's", "it does not move on before"));
}

TEST_F(RolloutProblemsTest, APlanOfAnOlderReleaseCanBeShownAndStopped) {
  ASSERT_OK(Start());
  Log(60, {});
  Rollout rollout = NowRollout();
  rollout.mutable_plan()->add_rewards("complaints=complaints.csv");
  rollout.mutable_plan()->add_guardrails("complaints:0");
  ASSERT_OK(WriteRollout(ModelDir(), rollout));
  EXPECT_THAT(StepRollout(options_),
              IsInvalidArgument("ROLLOUT.textproto has a plan that this "
                                "release cannot judge: ",
                                "horizon", "rollout --stop"));
  EXPECT_THAT(CheckNoRollout(options_.model_store(), "default"),
              IsFailedPrecondition("is under way since"));
  ASSERT_OK_AND_ASSIGN(const auto status, RolloutStatus(options_));
  EXPECT_EQ(status.outcome(), "RUNNING");
  EXPECT_EQ(status.history_size(), 1);
  options_.set_reason("too old");
  ASSERT_OK(StopRollout(options_));
  EXPECT_EQ(NowRollout().outcome(), Rollout::STOPPED);
}

}  // namespace
}  // namespace sortition
