#include "trainer/recorded_run.h"

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/training_runs.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RecordedRunTest : public testing::Test {
 protected:
  // Runs `run`, and returns what was recorded.
  TrainingRun Recorded(const std::function<absl::Status(TrainingRun*)>& run) {
    status_ = RunAndRecord(
        {.kind = "train", .store = dir_.path(), .model = "m", .read = "tuples"},
        &output_, run);
    const auto runs = ReadTrainingRuns(dir_.path(), "m", nullptr);
    EXPECT_THAT(runs, SizeIs(1));
    return runs.empty() ? TrainingRun() : runs[0];
  }

  const TempDir dir_;
  std::ostringstream out_, error_;
  CommandOutput output_{out_, error_};
  absl::Status status_;
};

TEST_F(RecordedRunTest, SaysWhatCameOfARun) {
  const TrainingRun run = Recorded([this](TrainingRun* record) {
    record->set_verdict("Not published: so.");
    record->set_next_step("Wait.");
    output_.exit_code = kExitGateSaysNo;
    return absl::OkStatus();
  });
  EXPECT_OK(status_);
  EXPECT_EQ(run.outcome(), TrainingRun::NOTHING_BETTER);
  EXPECT_EQ(run.exit_status(), 3);
  EXPECT_EQ(run.verdict(), "Not published: so.");
  EXPECT_EQ(run.next_step(), "Wait.");
  EXPECT_EQ(run.read(), "tuples");
  EXPECT_GT(run.time_us(), 0);
  EXPECT_EQ(run.last_success_us(), run.time_us());
}

TEST_F(RecordedRunTest, ErrorsAreVerdicts) {
  TrainingRun run = Recorded([](TrainingRun*) {
    return absl::InvalidArgumentError("reward_min is 2, must be below 1");
  });
  EXPECT_EQ(run.outcome(), TrainingRun::FAILED);
  EXPECT_EQ(run.exit_status(), 1);
  EXPECT_EQ(run.verdict(), "reward_min is 2, must be below 1");
  EXPECT_THAT(run.next_step(), HasSubstr("Change the option"));
  run = Recorded([](TrainingRun*) { return NotYetError("no tuple yet"); });
  EXPECT_EQ(run.outcome(), TrainingRun::NOT_YET);
  EXPECT_EQ(run.exit_status(), 4);
  EXPECT_EQ(run.last_success_us(), 0);
}

TEST_F(RecordedRunTest, AnExceptionIsAnErrorAndRecorded) {
  const TrainingRun run = Recorded([](TrainingRun*) -> absl::Status {
    throw std::runtime_error("no memory");
  });
  EXPECT_THAT(status_, StatusIs(absl::StatusCode::kInternal,
                                HasSubstr("exception: no memory")));
  EXPECT_EQ(run.outcome(), TrainingRun::FAILED);
  EXPECT_THAT(run.verdict(), HasSubstr("no memory"));
}

// As timers call it, on a log that is not there yet, and wrongly.
TEST_F(RecordedRunTest, TheCommandsRecordTheirRuns) {
  const std::string store = "--model_store=" + dir_.path();
  dir_.Sub("tuples");
  const std::string tuples = "--tuples=" + (dir_ / "tuples");
  EXPECT_EQ(RunTrainer({"train", store, tuples}), kExitNotYet);
  EXPECT_EQ(RunTrainer({"prune", store, "--versions=7"}), kExitError);
  auto runs = ReadTrainingRuns(dir_.path(), "default", nullptr);
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].kind(), "prune");
  EXPECT_EQ(runs[0].outcome(), TrainingRun::FAILED);
  EXPECT_EQ(runs[1].kind(), "train");
  EXPECT_EQ(runs[1].outcome(), TrainingRun::NOT_YET);
  EXPECT_THAT(runs[1].verdict(), HasSubstr("no tuple in"));
  EXPECT_EQ(RunTrainer({"train", store, tuples, "--reward_min=2"}), kExitError);
  runs = ReadTrainingRuns(dir_.path(), "default", nullptr);
  EXPECT_EQ(runs[1].outcome(), TrainingRun::FAILED);
  EXPECT_THAT(runs[1].verdict(), HasSubstr("reward_min is 2"));
}

// All tuples are of the model 'default'.
TEST_F(RecordedRunTest, AMisspeltModelMakesNoFolder) {
  const std::string store = "--model_store=" + dir_.Sub("models");
  const std::string tuples = "--tuples=" + dir_.Sub("tuples");
  WriteSegment(dir_.Sub("tuples"), 0, MakeTuples({}, 20));
  EXPECT_EQ(RunTrainer({"train", store, tuples, "--model=defualt"}),
            kExitNotYet);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "models/defualt"));
  EXPECT_EQ(RunTrainer({"train", store, tuples, "--reward_min=2"}), kExitError);
  EXPECT_THAT(ReadTrainingRuns(dir_ / "models", "default", nullptr), SizeIs(1));
}

TEST_F(RecordedRunTest, ARunIsRecordedWhileItIsUnderWay) {
  Recorded([this](TrainingRun*) {
    const auto runs = ReadTrainingRuns(dir_.path(), "m", nullptr);
    EXPECT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs.at(0).outcome(), TrainingRun::RUNNING);
    EXPECT_EQ(runs.at(0).read(), "tuples");
    return absl::OkStatus();
  });
}

TEST_F(RecordedRunTest, ADryRunRecordsNothing) {
  dir_.Sub("tuples");
  EXPECT_EQ(RunTrainer({"train", "--model_store=" + dir_.path(),
                        "--tuples=" + (dir_ / "tuples"), "--dry_run"}),
            kExitNotYet);
  EXPECT_THAT(ReadTrainingRuns(dir_.path(), "default", nullptr), IsEmpty());
}

}  // namespace
}  // namespace sortition
