#include "tests/testing/child_process.h"

#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ChildProcessTest, RunToEndGivesExitCodeAndOutput) {
  ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                       RunToEnd(Shell("echo out; echo err >&2; exit 7")));
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.stdout_text, "out\n");
  EXPECT_EQ(run.stderr_text, "err\n");
}

TEST(ChildProcessTest, MissingProgramIsNotFound) {
  EXPECT_THAT(RunToEnd({"/nowhere/program"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
}

TEST(ChildProcessTest, RunToEndKillsWhatTakesTooLong) {
  EXPECT_THAT(
      RunToEnd(Shell("echo reason >&2; exec sleep 1000"), 0.2),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("reason")));
}

TEST(ChildProcessTest, WaitTellsTheSignalAndIsRepeatable) {
  const TempDir directory;
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<ChildProcess> child,
      ChildProcess::Start({"/bin/sleep", "1000"}, directory.path() + "/out"));
  EXPECT_EQ(child->Wait(0), std::nullopt);
  EXPECT_OK(child->CpuSeconds());
  child->Signal(SIGTERM);
  EXPECT_EQ(child->Wait(60), -SIGTERM);
  EXPECT_EQ(child->Wait(60), -SIGTERM);
}

TEST(ChildProcessTest, WaitForPortReadsItsLine) {
  const TempDir directory;
  const std::string ports = directory.path() + "/ports";
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<ChildProcess> child,
      ChildProcess::Start(
          Shell(absl::StrCat("printf 'rpc 81\\nmetrics 82\\n' > ", ports,
                             "; exec sleep 1000")),
          directory.path() + "/out"));
  ASSERT_OK_AND_ASSIGN(const int port,
                       child->WaitForPort(ports, "metrics", 60));
  EXPECT_EQ(port, 82);
  EXPECT_THAT(child->WaitForPort(ports, "other", 0.05),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(ChildProcessTest, WaitForPortTellsWhyTheProcessEnded) {
  const TempDir directory;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ChildProcess> child,
                       ChildProcess::Start(Shell("echo no luck >&2; exit 1"),
                                           directory.path() + "/out"));
  EXPECT_THAT(child->WaitForPort(directory.path() + "/ports", "rpc", 60),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no luck")));
}

}  // namespace
}  // namespace sortition
