#include "io/models/training_runs.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TrainingRunsTest : public testing::Test {
 protected:
  static TrainingRun MakeRun(const std::string& kind, int64_t time_us,
                             TrainingRun::Outcome outcome) {
    TrainingRun run;
    run.set_kind(kind);
    run.set_time_us(time_us);
    run.set_outcome(outcome);
    run.set_verdict("because \"so\"\n");
    return run;
  }
  std::vector<TrainingRun> Read(std::string* problem = nullptr) const {
    return ReadTrainingRuns(dir_.path(), "m", problem);
  }

  const TempDir dir_;
};

TEST_F(TrainingRunsTest, TheLastRunOfEachKindStays) {
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("train", 1, TrainingRun::DONE)));
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("prune", 2, TrainingRun::DONE)));
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("train", 3, TrainingRun::FAILED)));
  const std::vector<TrainingRun> runs = Read();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].kind(), "prune");
  EXPECT_EQ(runs[1].kind(), "train");
  EXPECT_EQ(runs[1].time_us(), 3);
  EXPECT_EQ(runs[1].verdict(), "because \"so\"\n");
  EXPECT_THAT(ReadTrainingRuns(dir_.path(), "other", nullptr), IsEmpty());
}

TEST_F(TrainingRunsTest, FourEarlierRunsOfEachKindStay) {
  EXPECT_THAT(ReadEarlierRuns(dir_.path(), "m"), IsEmpty());
  for (int64_t time_us = 1; time_us <= 7; ++time_us) {
    ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                               MakeRun("train", time_us, TrainingRun::DONE)));
  }
  for (const int64_t time_us : {4, 8}) {
    ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                               MakeRun("prune", time_us, TrainingRun::DONE)));
  }
  // Of the last runs, train 7 and prune 8, neither is among them.
  std::vector<std::string> runs;
  for (const TrainingRun& run : ReadEarlierRuns(dir_.path(), "m")) {
    runs.push_back(run.kind() + " " + std::to_string(run.time_us()));
  }
  EXPECT_THAT(runs, testing::ElementsAre("train 6", "train 5", "prune 4",
                                         "train 4", "train 3"));
  // Older servers read the files with the other suffix only.
  EXPECT_THAT(Read(), SizeIs(2));
}

TEST_F(TrainingRunsTest, DamagedEarlierRunsBeginAnew) {
  const std::string path = dir_ / "m/.runs/train.earlier";
  for (int64_t time_us = 1; time_us <= 2; ++time_us) {
    ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                               MakeRun("train", time_us, TrainingRun::DONE)));
  }
  ASSERT_OK(WriteFile(path, "nonsense"));
  EXPECT_THAT(ReadEarlierRuns(dir_.path(), "m"), IsEmpty());
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("train", 3, TrainingRun::DONE)));
  EXPECT_THAT(ReadEarlierRuns(dir_.path(), "m"), SizeIs(1));
}

TEST_F(TrainingRunsTest, FailuresAndWaitingKeepTheTimeOfTheLastSuccess) {
  const struct {
    TrainingRun::Outcome outcome;
    int64_t last_success_us;
  } steps[] = {{TrainingRun::FAILED, 0},         {TrainingRun::DONE, 2},
               {TrainingRun::NOT_YET, 2},        {TrainingRun::FAILED, 2},
               {TrainingRun::NOTHING_BETTER, 5}, {TrainingRun::FAILED, 5}};
  int64_t time_us = 0;
  for (const auto& step : steps) {
    ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                               MakeRun("train", ++time_us, step.outcome)));
    EXPECT_EQ(Read().at(0).last_success_us(), step.last_success_us) << time_us;
  }
}

TEST_F(TrainingRunsTest, ADamagedRecordIsNamedAndReplaced) {
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("train", 1, TrainingRun::DONE)));
  const std::string path = dir_ / "m/.runs/train.textproto";
  ASSERT_OK(WriteFile(path, "nonsense"));
  std::string problem;
  EXPECT_THAT(Read(&problem), IsEmpty());
  EXPECT_THAT(problem, HasSubstr("train.textproto is not the record of a run"));
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             MakeRun("train", 2, TrainingRun::DONE)));
  EXPECT_THAT(Read(), SizeIs(1));
}

// A mistyped path must not become a store.
TEST_F(TrainingRunsTest, AStoreThatIsNotThereIsNotMade) {
  EXPECT_FALSE(
      WriteTrainingRun(dir_ / "no", "m", MakeRun("train", 1, TrainingRun::DONE))
          .ok());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "no"));
}

TEST_F(TrainingRunsTest, LongTextsAreCut) {
  TrainingRun run = MakeRun("train", 1, TrainingRun::FAILED);
  run.set_verdict(std::string(100000, 'x'));
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m", run));
  EXPECT_LT(Read().at(0).verdict().size(), 5000u);
}

}  // namespace
}  // namespace sortition
