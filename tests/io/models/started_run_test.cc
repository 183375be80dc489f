#include "io/models/started_run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/training_runs.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class StartedRunTest : public testing::Test {
 protected:
  static TrainingRun OfKind(const std::string& kind) {
    TrainingRun run;
    run.set_kind(kind);
    return run;
  }

  // A result of a run that took `seconds` and ended after `time_us`.
  static TrainingRun Ended(int64_t time_us, double seconds) {
    TrainingRun run = OfKind("train");
    run.set_time_us(time_us);
    run.set_seconds(seconds);
    run.set_outcome(TrainingRun::DONE);
    return run;
  }

  std::vector<TrainingRun> Read() const {
    std::string problem;
    auto runs = ReadTrainingRuns(dir_.path(), "m", &problem);
    EXPECT_EQ(problem, "");
    return runs;
  }

  // Begins a run in another process, which is then killed.
  void Kill(const std::string& kind) const {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto run = StartedRun::Begin(dir_.path(), "m", OfKind(kind));
      const char is_ok = run.ok() ? 1 : 0;
      (void)!write(ready[1], &is_ok, 1);
      while (true) pause();
    }
    char is_ok = 0;
    ASSERT_EQ(read(ready[0], &is_ok, 1), 1);
    EXPECT_EQ(is_ok, 1);
    EXPECT_THAT(Read(), SizeIs(1));
    EXPECT_GT(Read().at(0).running_since_us(), 0);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    close(ready[0]);
    close(ready[1]);
  }

  const TempDir dir_;
};

TEST_F(StartedRunTest, ARunUnderWayIsShownUntilItEnds) {
  ASSERT_OK_AND_ASSIGN(auto started,
                       StartedRun::Begin(dir_.path(), "m", OfKind("train")));
  ASSERT_THAT(Read(), SizeIs(1));
  const TrainingRun run = Read()[0];
  EXPECT_EQ(run.kind(), "train");
  EXPECT_EQ(run.outcome(), TrainingRun::RUNNING);
  EXPECT_EQ(run.pid(), getpid());
  EXPECT_GT(run.running_since_us(), 0);
  started.reset();
  EXPECT_THAT(Read(), SizeIs(0));
}

TEST_F(StartedRunTest, TheLastResultStaysWhileTheNextRunIsUnderWay) {
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m", Ended(1000, 0)));
  ASSERT_OK_AND_ASSIGN(auto started,
                       StartedRun::Begin(dir_.path(), "m", OfKind("train")));
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].outcome(), TrainingRun::DONE);
  EXPECT_EQ(Read()[0].running_since_us(), started->run().running_since_us());
  started.reset();
  EXPECT_EQ(Read()[0].running_since_us(), 0);
}

TEST_F(StartedRunTest, AKilledRunIsAFailure) {
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m", Ended(1000, 0)));
  Kill("train");
  ASSERT_THAT(Read(), SizeIs(1));
  const TrainingRun run = Read()[0];
  EXPECT_EQ(run.outcome(), TrainingRun::FAILED);
  EXPECT_EQ(run.exit_status(), 1);
  EXPECT_EQ(run.running_since_us(), 0);
  EXPECT_EQ(run.last_success_us(), 1000);
  EXPECT_THAT(run.verdict(), AllOf(HasSubstr("ended without a result"),
                                   HasSubstr("was killed")));
}

// While the next run is under way, the failure of the one before stays visible,
// and it is gone once the next one has a result.
TEST_F(StartedRunTest, TheNextRunKeepsTheFailureUntilItHasAResult) {
  Kill("train");
  ASSERT_OK_AND_ASSIGN(auto started,
                       StartedRun::Begin(dir_.path(), "m", OfKind("train")));
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].outcome(), TrainingRun::FAILED);
  EXPECT_GT(Read()[0].running_since_us(), 0);
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m",
                             Ended(started->run().running_since_us() + 10, 0)));
  started.reset();
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].outcome(), TrainingRun::DONE);
}

// Two runs overlap: the one that began first is killed, the other one succeeds.
TEST_F(StartedRunTest, ALaterRunSupersedesAKilledOne) {
  Kill("train");
  const int64_t killed_us = Read().at(0).time_us();
  // It began one second before the killed run, and says nothing of it.
  ASSERT_OK(WriteTrainingRun(dir_.path(), "m", Ended(killed_us + 1000, 1)));
  EXPECT_EQ(Read().at(0).outcome(), TrainingRun::FAILED);
  // It began 1 µs after it.
  ASSERT_OK(
      WriteTrainingRun(dir_.path(), "m", Ended(killed_us + 1'000'001, 1)));
  EXPECT_EQ(Read().at(0).outcome(), TrainingRun::DONE);
}

TEST_F(StartedRunTest, RunsOfOtherKindsAreLeftAlone) {
  Kill("rollout");
  ASSERT_OK_AND_ASSIGN(auto started,
                       StartedRun::Begin(dir_.path(), "m", OfKind("train")));
  const auto runs = Read();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].kind(), "rollout");
  EXPECT_EQ(runs[0].outcome(), TrainingRun::FAILED);
  EXPECT_EQ(runs[1].outcome(), TrainingRun::RUNNING);
}

}  // namespace
}  // namespace sortition
