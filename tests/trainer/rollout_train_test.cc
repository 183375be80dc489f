// What `train --rollout` publishes does not serve at once.
#include "trainer/rollout/rollout_train.h"

#include "process/command.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/commands.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

class RolloutTrainTest : public TrainFixture {
 protected:
  std::string ModelDir() const { return dir_.path() + "/models/default"; }
};

TEST_F(RolloutTrainTest, HoldsWhatServesAndBeginsARollout) {
  Prepare({}, 3000);
  options_.set_rollout(true);
  options_.mutable_plan()->add_shares(0.02);
  options_.mutable_plan()->add_margins(0.1);
  options_.set_reward_max(2);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_EQ(report.version(), 2u);
  EXPECT_EQ(report.rollout(),
            "Version 2 begins at 2 %, beside version 1, which is pinned: the "
            "gate let it pass.");
  EXPECT_THAT(FormatReport(report), HasSubstr(report.rollout()));
  ASSERT_OK_AND_ASSIGN(const auto history, ServingHistory(ModelDir()));
  // The old one was pinned before there was a new one.
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].pinned_version(), 1u);
  EXPECT_EQ(history[0].split().arms_size(), 0);
  EXPECT_EQ(history[1].pinned_version(), 1u);
  ASSERT_EQ(history[1].split().arms_size(), 1);
  EXPECT_EQ(history[1].split().arms(0).version(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto rollout, ReadRollout(ModelDir()));
  ASSERT_TRUE(rollout.has_value());
  EXPECT_EQ(rollout->pinned_before(), 0u);
  EXPECT_EQ(rollout->plan().reward_max(), 2);
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("rollout of version 2 over 1 is under way"));
}

TEST_F(RolloutTrainTest, RefusesAPlanThatCannotBeFollowedBeforeItLearns) {
  Prepare({}, 10);
  options_.set_rollout(true);
  options_.add_rewards("clicks=clicks.csv@horizon=1d");
  options_.add_guardrails("clicks:0");
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("plan.reward_ranges lacks 'clicks'"));
}

TEST_F(RolloutTrainTest, LetsGoOfWhatServesIfNothingIsPublished) {
  Prepare({}, 10);
  options_.set_rollout(true);
  std::string sentence;
  EXPECT_THAT(PublishWithRollout(
                  options_,
                  []() -> absl::StatusOr<uint64_t> {
                    return absl::UnavailableError("the disk is full");
                  },
                  &sentence)
                  .status(),
              IsUnavailable("disk is full"));
  ASSERT_OK_AND_ASSIGN(const auto serving, ReadServing(ModelDir()));
  EXPECT_EQ(serving.pinned_version(), 0u);
  EXPECT_EQ(serving.change(), 2u);
}

TEST_F(RolloutTrainTest, PublishesNothingIfTheGateSaysNo) {
  Prepare({.rewards_are_noise = true}, 1000);
  options_.set_rollout(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.has_version());
  ASSERT_OK_AND_ASSIGN(const auto serving, ReadServing(ModelDir()));
  EXPECT_EQ(serving.change(), 0u);
}

// `rollout` as it is called.

class RolloutCommandTest : public RolloutFixture {};

TEST_F(RolloutCommandTest, ExitsWithWhatHappened) {
  const std::string store = "--model_store=" + dir_.path() + "/models";
  const std::string tuples = "--tuples=" + dir_.Sub("tuples");
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);  // There is none.
  EXPECT_EQ(RunTrainer({"rollout", store, "--start"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--version=2"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--status", "--stop"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--start", "--version=9"}),
            kExitError);
  EXPECT_EQ(RunTrainer({"rollout", store, "--start", "--version=2",
                        "--shares=0.1", "--margins=0.1",
                        "--unit_window_seconds=0", "--min_seconds=0"}),
            kExitOk);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);
  EXPECT_EQ(RunTrainer({"rollout", store, "--status", "--output=json"}),
            kExitOk);
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(RunTrainer({"rollout", store, tuples, "--dry_run"}),
            kExitGateSaysNo);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitGateSaysNo);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);  // It is over.
  EXPECT_EQ(RunTrainer({"rollout", store, "--stop", "--reason=x"}), kExitError);
}

TEST_F(RolloutCommandTest, FailsIfItCannotJudgeAllUnlessItWentBack) {
  const std::string store = "--model_store=" + dir_.path() + "/models";
  const std::string tuples = "--tuples=" + dir_.Sub("tuples");
  AddGuardrail("complaints");  // Its file is not there.
  ASSERT_OK(Start());
  Log(60, {});
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitError);
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitGateSaysNo);
}

}  // namespace
}  // namespace sortition
