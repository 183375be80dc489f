#include "trainer/rollout/rollout.h"

#include <chrono>

#include "google/protobuf/text_format.h"
#include "process/metrics.h"
#include "tests/trainer/rollout/rollout_fixture.h"

namespace sortition {
namespace {

using model::v1::Rollout;
using model::v1::Serving;

class RolloutTest : public RolloutFixture {};

TEST_F(RolloutTest, BeginsBesideTheVersionThatServes) {
  ASSERT_OK_AND_ASSIGN(const auto report, Start());
  EXPECT_EQ(report.step().sentence(),
            "Version 2 begins at 10 %, beside version 1, which is pinned.");
  const Serving serving = NowServing();
  EXPECT_EQ(serving.pinned_version(), 1u);
  ASSERT_EQ(serving.split().arms_size(), 1);
  EXPECT_EQ(serving.split().arms(0).version(), 2u);
  EXPECT_EQ(PlacesOf(serving.split().arms(0)), 1000u);
  EXPECT_EQ(serving.caller(), kRolloutCaller);
  EXPECT_EQ(serving.reason(), report.step().sentence());
  const Rollout rollout = NowRollout();
  EXPECT_EQ(rollout.outcome(), Rollout::RUNNING);
  EXPECT_EQ(rollout.change(), serving.change());
  EXPECT_EQ(rollout.salt(), serving.split().salt());
}

// What was misspelt, or not published yet, makes nothing.
TEST_F(RolloutTest, NamesStoreAndModelWhereThereIsNone) {
  options_.set_model("other");
  options_.set_reason("why");
  for (const auto& status : {StepRollout(options_).status(), Start().status(),
                             StopRollout(options_).status()}) {
    EXPECT_THAT(status, IsNotFound("model = \"other\": must be a model of "
                                   "model_store = \"" +
                                       dir_.path() + "/models\"",
                                   "has default;", "train"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/models/other"));
  options_.set_model_store(dir_.Sub("empty"));
  std::filesystem::create_directory(options_.model_store());
  EXPECT_THAT(StepRollout(options_), IsNotFound("has none;"));
  options_.set_model_store(dir_.path() + "/nowhere");
  EXPECT_THAT(StepRollout(options_),
              IsNotFound("model_store = \"" + dir_.path() +
                         "/nowhere\": there is no such directory"));
}

TEST_F(RolloutTest, RefusesToBeginWhatCannotBe) {
  EXPECT_THAT(Start(3), IsFailedPrecondition("version = 3: must be a version"));
  ASSERT_OK(Start());
  EXPECT_THAT(Start(2), IsFailedPrecondition("is under way since"));
  options_.set_reason("tired of it");
  ASSERT_OK(StopRollout(options_));
  EXPECT_THAT(Start(2), IsFailedPrecondition("split already, by change"));
  const std::string before = *ReadFile(ModelDir() + "/SERVING.textproto");
  ASSERT_OK(ChangeServing(ModelDir(), {"off", "test"}, [](Serving* state) {
    state->clear_split();
    state->set_mode(model::v1::APPRENTICE);
    return absl::OkStatus();
  }));
  EXPECT_THAT(Start(2), IsFailedPrecondition("mode is APPRENTICE"));
}

TEST_F(RolloutTest, MovesOnToAllAndFollowsTheNewestAgain) {
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK_AND_ASSIGN(auto report, StepRollout(options_));
  EXPECT_EQ(report.step().action(), "MOVE_ON");
  EXPECT_THAT(report.step().sentence(),
              AllOf(HasSubstr("Version 2 moves on from 10 % to 50 %: it earns"),
                    testing::ContainsRegex(
                        " more than version 1, which earns 0\\.[45]"),
                    HasSubstr("by 2000 units in 2000 decisions"),
                    testing::ContainsRegex(
                        "at least 0\\.3[0-9]*, at most 0\\.1[0-9]* less "
                        "\\(30 % of 0\\.[45][0-9]*\\), is"),
                    HasSubstr(" of 100;")));
  EXPECT_EQ(PlacesOf(NowServing().split().arms(0)), 5000u);
  EXPECT_EQ(NowServing().split().salt(), NowRollout().salt());
  // The stage has no decisions of its own yet.
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_THAT(
      report.step().sentence(),
      HasSubstr("waits at 50 %: the stage has 0 decisions of at least 100"));
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("moves on from 50 % to 100 %"));
  EXPECT_EQ(report.outcome(), "DONE");
  EXPECT_FALSE(NowServing().has_split());
  EXPECT_EQ(NowServing().pinned_version(), 0u);
  std::vector<std::string> actions;
  const model::v1::Rollout rollout = NowRollout();
  for (const auto& step : rollout.steps()) {
    actions.push_back(step.action());
  }
  EXPECT_THAT(actions, ElementsAre("START", "MOVE_ON", "WAIT", "MOVE_ON"));
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("No rollout is under way; the last one is DONE"));
}

TEST_F(RolloutTest, PinsTheNewVersionWhereTheOldOneWasPinned) {
  ASSERT_OK(ChangeServing(ModelDir(), {"known", "test"}, [](Serving* state) {
    state->set_pinned_version(1);
    return absl::OkStatus();
  }));
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK(StepRollout(options_));
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK(StepRollout(options_));
  EXPECT_EQ(NowServing().pinned_version(), 2u);
  EXPECT_FALSE(NowServing().has_split());
}

TEST_F(RolloutTest, WaitsAndSaysForWhat) {
  ASSERT_OK(Start());
  dir_.Sub("tuples");
  ASSERT_OK_AND_ASSIGN(auto report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasSubstr("waits at 10 %: no unit has been judged yet"));
  Log(60, {.canary = 0.5, .stable = 0.5});
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_EQ(report.step().action(), "WAIT");
  EXPECT_THAT(report.step().sentence(),
              HasTexts("the evidence that it earns at least 0.", "(30 % of 0.",
                       "the evidence that it earns less is", " of 50",
                       "more decisions would do",
                       "errors and times are not compared."));
  EXPECT_GT(report.step().decisions_needed(), 1);
  EXPECT_LT(report.step().lower(), report.step().difference());
}

TEST_F(RolloutTest, ADryRunChangesNothing) {
  ASSERT_OK(Start());
  Log(2000, {.canary = 0.6, .stable = 0.5});
  const std::string serving = *ReadFile(ModelDir() + "/SERVING.textproto");
  const std::string rollout = *ReadFile(ModelDir() + "/ROLLOUT.textproto");
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.step().action(), "MOVE_ON");
  EXPECT_FALSE(report.step().has_change());
  EXPECT_EQ(*ReadFile(ModelDir() + "/SERVING.textproto"), serving);
  EXPECT_EQ(*ReadFile(ModelDir() + "/ROLLOUT.textproto"), rollout);
}

TEST_F(RolloutTest, CountsOnlyItsOwnSplitAndWhatWasNotAskedFor) {
  ASSERT_OK(Start());
  std::vector<log::v1::BanditTuple> tuples =
      MakeUnits(400, {.canary = 0.5, .stable = 0.5});
  for (size_t i = 0; i < tuples.size(); ++i) {
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    switch (i % 8) {
      case 0:
        decision.mutable_arm()->mutable_split()->set_salt(
            "00000000000000000000000000000001");
        break;
      case 1:
        decision.clear_arm();
        break;
      case 2:
        decision.set_model("another");
        break;
      case 3:
        decision.set_seed(7);
        break;
      case 4:
        tuples[i].add_censored(log::v1::LOST);
        break;
      case 5:
        decision.set_time_us(NowUs() + 3'600'000'000);
        break;
      case 6:
        decision.mutable_arm()->set_primary_version(3);
        break;
      default:
        break;
    }
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.step().decisions(), 50u);
}

TEST_F(RolloutTest, DoesNotReadWhatWasWrittenLongBefore) {
  ASSERT_OK(Start());
  Log(60, {});
  Log(40, {});
  const auto now = std::filesystem::file_time_type::clock::now();
  const std::filesystem::directory_iterator first(dir_.Sub("tuples"));
  const std::string name = first->path().filename().string();
  std::filesystem::last_write_time(first->path(), now - std::chrono::hours(2));
  ASSERT_OK_AND_ASSIGN(auto report, StepRollout(options_));
  const uint64_t kept = report.step().decisions();
  EXPECT_THAT(kept, testing::AnyOf(40, 60)) << name;
  std::filesystem::last_write_time(first->path(), now);
  ASSERT_OK_AND_ASSIGN(report, StepRollout(options_));
  EXPECT_EQ(report.step().decisions(), 100u);
}

TEST_F(RolloutTest, TakesUpWhatWasInterrupted) {
  ASSERT_OK(Start());
  const Rollout before = NowRollout();
  Log(2000, {.canary = 0.6, .stable = 0.5});
  ASSERT_OK(StepRollout(options_));
  // As if the process had died between the two files.
  ASSERT_OK(WriteRollout(ModelDir(), before));
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_EQ(report.outcome(), "RUNNING");
  EXPECT_EQ(NowRollout().stage(), 1u);
  EXPECT_EQ(NowRollout().change(), NowServing().change());
  EXPECT_EQ(PlacesOf(NowServing().split().arms(0)), 5000u);
}

// How rollouts end that are not finished.

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
              HasTexts("Version 2 goes back from 10 % to 0 %: it earns",
                       " less than version 1, which earns 0.",
                       "the evidence that it earns less is", " of 50;"));
  EXPECT_EQ(report.share(), 0);
  EXPECT_LT(report.step().upper(), 0);
  ExpectBack();
  // The next one draws anew who comes to the canary.
  const std::string salt = NowRollout().salt();
  ASSERT_OK(Start());
  EXPECT_NE(NowRollout().salt(), salt);
}

TEST_F(RolloutEndTest, GoesBackForAGuardrail) {
  const std::string file = AddGuardrail("complaints");
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
  const auto write_through = [&](absl::Time through) {
    ASSERT_OK(WriteFile(file, rows + ThroughLine(through)));
  };
  // The guardrail is not judged before its outcomes are known; the reward is.
  write_through(absl::FromUnixMicros(NowRollout().started_us()) -
                absl::Hours(2));
  ASSERT_OK_AND_ASSIGN(const auto before, StepRollout(options_));
  EXPECT_EQ(before.step().decisions(), 2000u);
  ASSERT_EQ(before.step().guardrails_size(), 1);
  EXPECT_EQ(before.step().guardrails(0).evidence_worse(), 1);
  write_through(absl::Now());
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

// Each file is asked for the outcomes up to its own horizon, however late those
// of another file are.
TEST_F(RolloutEndTest, AFileMustHaveItsRowsWhateverTheHorizonOfAnother) {
  config::v1::RolloutPlan& plan = *options_.mutable_plan();
  const std::string fast = dir_.path() + "/fast.csv";
  const std::string slow = dir_.path() + "/slow.csv";
  plan.add_rewards("fast=" + fast + "@horizon=0s");
  plan.add_rewards("slow=" + slow + "@horizon=30d@sparse");
  for (const std::string name : {"fast", "slow"}) {
    plan.add_guardrails(name + ":0.05");
    plan.add_reward_ranges(name + ":-1:0");
  }
  ASSERT_OK(Start());
  const auto tuples = MakeUnits(2000, {});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const std::string end = absl::StrCat(
      "# through=",
      absl::FormatTime(absl::RFC3339_full, absl::Now(), absl::UTCTimeZone()),
      "\n");
  const std::string header = "decision_id,reward\n";
  const auto row = [](const log::v1::BanditTuple& tuple) {
    return tuple.decision().decision_id() + ",0\n";
  };
  std::string rows;
  for (const auto& tuple : tuples) rows += row(tuple);
  ASSERT_OK(WriteFile(slow, header + row(tuples[0]) + end));
  ASSERT_OK(WriteFile(fast, header + rows + end));
  ASSERT_OK_AND_ASSIGN(const auto complete, StepRollout(options_));
  EXPECT_THAT(complete.problems(), testing::IsEmpty());
  rows.resize(rows.size() - row(tuples.back()).size());
  ASSERT_OK(WriteFile(fast, header + rows + end));
  ASSERT_OK_AND_ASSIGN(const auto incomplete, StepRollout(options_));
  EXPECT_THAT(incomplete.problems(),
              testing::ElementsAre(
                  HasSubstr("fast.csv: 1 of the 2000 decisions that it covers "
                            "have no row")));
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
  EXPECT_THAT(report.step().sentence(), Not(HasSubstr("errors and times")));
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
      HasTexts("moves on", "the servers have not counted answers of both yet"));
}

TEST_F(RolloutEndTest, GoesBackIfNothingIsDecidedInTime) {
  options_.mutable_plan()->set_max_seconds(1e-6);
  ASSERT_OK(Start());
  Log(60, {});
  ASSERT_OK_AND_ASSIGN(const auto report, StepRollout(options_));
  EXPECT_THAT(report.step().sentence(),
              HasTexts("goes back from 10 %", "nothing was decided in"));
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
              HasTexts("stops at 10 %, for somebody else changed what "
                       "serves: change 2 at ",
                       " by alice (I know better)"));
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
