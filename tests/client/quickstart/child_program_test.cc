// Programs that `quickstart` starts, with a shell in their place.
#include "client/quickstart/child_program.h"

#include <signal.h>

#include <filesystem>
#include <fstream>

#include "client/quickstart/training_schedule.h"
#include "gmock/gmock.h"
#include "process/command.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;

class ChildProgramTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProgram> Shell(const std::string& script) {
    auto child = ChildProgram::Start("/bin/sh", {"-c", script}, log());
    EXPECT_OK(child);
    return child.ok() ? *std::move(child) : nullptr;
  }

  static int WaitFor(ChildProgram* child) {
    EXPECT_TRUE(
        PollUntil(Patience(60), [&] { return child->Poll().has_value(); }));
    return child->Poll().value_or(-1);
  }

  std::string log() const { return dir_ / "log"; }

  const TempDir dir_;
};

TEST_F(ChildProgramTest, TellsItsStatusAndItsLastLine) {
  const auto child = Shell("echo one; echo two >&2; echo; exit 3");
  EXPECT_EQ(WaitFor(child.get()), 3);
  EXPECT_EQ(child->LastLine(), "two");
}

TEST_F(ChildProgramTest, IsAskedToEndAndThenKilled) {
  // The line says that the trap is set.
  const auto polite =
      Shell("trap 'exit 7' TERM; echo set; while :; do :; done");
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return polite->LastLine() == "set"; }));
  EXPECT_EQ(polite->End(Patience(60)), 7);
  std::filesystem::remove(log());
  const auto deaf = Shell("trap '' TERM; echo set; while :; do :; done");
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return deaf->LastLine() == "set"; }));
  EXPECT_EQ(deaf->End(0.1), 128 + SIGKILL);
}

TEST_F(ChildProgramTest, HasTheSignalsOfAnOrdinaryProgram) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const auto child = Shell("kill -TERM $$");
  EXPECT_EQ(WaitFor(child.get()), 128 + SIGTERM);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ChildProgramTest, IsFoundBesideThisProgramOrInThePath) {
  EXPECT_EQ(*FindProgram("sh", "/bin"), "/bin/sh");
  EXPECT_OK(FindProgram("test_client_quickstart", ""));
  EXPECT_OK(FindProgram("sh", ""));
  EXPECT_THAT(FindProgram("sh", dir_ / "").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("sh is not in")));
}

class TrainingScheduleTest : public ChildProgramTest {
 protected:
  TrainingScheduleTest() {
    for (const char* name : {"tuples", "logs"}) dir_.Sub(name);
    // Counts its calls, and says no at the first.
    std::ofstream(dir_ / "trainer")
        << "#!/bin/sh\necho call >> '" << (dir_ / "calls")
        << "'\necho \"$@\"\nexit 3\n";
    std::filesystem::permissions(dir_ / "trainer",
                                 std::filesystem::perms::owner_all);
  }

  size_t NumCalls() const {
    std::ifstream file(dir_ / "calls");
    size_t calls = 0;
    for (std::string line; std::getline(file, line);) ++calls;
    return calls;
  }

  // Polls at that time until a training has ended.
  std::string News(TrainingSchedule* schedule, double now_seconds) {
    std::string text;
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      text = schedule->Poll(now_seconds).value_or("an error");
      return !text.empty();
    }));
    return text;
  }
};

TEST_F(TrainingScheduleTest, TrainsAtOnceWhenThereAreTuplesAndThenOnTime) {
  TrainingSchedule schedule(
      {.program = dir_ / "trainer", .dir = dir_ / "", .every_seconds = 100});
  EXPECT_EQ(*schedule.Poll(5), "");
  EXPECT_EQ(NumCalls(), 0u);  // There is nothing to learn from.
  std::ofstream(dir_ / "tuples/1.seg") << "x";
  EXPECT_EQ(News(&schedule, 6),
            "training: the gate said no, nothing was published");
  EXPECT_EQ(NumCalls(), 1u);
  EXPECT_EQ(*schedule.Poll(105.9), "");
  EXPECT_EQ(NumCalls(), 1u);
  EXPECT_THAT(News(&schedule, 106), HasSubstr("the gate said no"));
  EXPECT_EQ(NumCalls(), 2u);
}

TEST(TrainingTextTest, SaysWhatCameOfIt) {
  EXPECT_THAT(TrainingText(kExitOk, ""), HasSubstr("was published"));
  EXPECT_EQ(TrainingText(1, "too few tuples"),
            "training: no version (exit status 1): too few tuples");
}

}  // namespace
}  // namespace sortition
