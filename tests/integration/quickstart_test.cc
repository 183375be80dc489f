// `sortition quickstart` with the real programs, as a new user calls it.
#include <signal.h>

#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "io/files.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// People have such folders; commands for a shell have to quote it.
constexpr char kFolder[] = "it's";

class QuickstartTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProcess> Start() {
    auto started = ChildProcess::Start(
        {BinaryPath("sortition"), "quickstart", folder(), "--free_ports",
         "--reward_wait_time_seconds=0.2", "--train_every_seconds=100000"},
        dir_ / "out");
    EXPECT_OK(started);
    return started.ok() ? *std::move(started) : nullptr;
  }

  // Waits for a line of the output.
  static bool Says(const ChildProcess& process, const std::string& text) {
    return PollUntil(Patience(120), [&] {
      return process.StdoutText().find(text) != std::string::npos;
    });
  }

  std::string folder() const { return dir_ / kFolder; }

  const TempDir dir_;
};

// The commands that it prints work as they are printed.
TEST_F(QuickstartTest, RunsAllAndWhatItSaysWorks) {
  const auto process = Start();
  ASSERT_TRUE(Says(*process, "Ctrl-C ends all."))
      << process->StdoutText() << process->StderrText();
  const std::string said = process->StdoutText();
  EXPECT_THAT(said, AllOf(HasSubstr("server   http://127.0.0.1:"),
                          HasSubstr("sidecar  http://127.0.0.1:")));
  const std::regex command("\n  (sortition [^\n]*)");
  std::vector<std::string> commands;
  for (std::sregex_iterator at(said.begin(), said.end(), command), end;
       at != end; ++at) {
    commands.push_back(BinaryPath((*at)[1].str()));
  }
  ASSERT_EQ(commands.size(), 3u) << said;
  commands[2] += " --once";  // top
  std::string last;
  for (const std::string& line : commands) {
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                         RunToEnd({"/bin/sh", "-c", line}));
    EXPECT_EQ(run.exit_code, 0) << line << run.stderr_text;
    last = run.stdout_text;
  }
  EXPECT_THAT(last, AllOf(HasSubstr("  ready"), HasSubstr("default"),
                          HasSubstr("Rank")));
  // The first tuple begins a training, which one decision is too few for.
  EXPECT_TRUE(Says(*process, "training: "));
  // A second one leaves the first and its files alone.
  ASSERT_OK_AND_ASSIGN(
      const FinishedProcess second,
      RunToEnd({BinaryPath("sortition"), "quickstart", folder()}));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.stderr_text, HasSubstr("runs already"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/run/server"));
  process->Signal(SIGINT);
  EXPECT_EQ(process->Wait(Patience(60)), 0) << process->StderrText();
  // The server first, so that nothing that it logs is left unread.
  EXPECT_THAT(process->StdoutText(),
              HasSubstr("server ended\nsidecar ended\n"));
}

TEST_F(QuickstartTest, EndsWithItsTerminal) {
  // Whoever runs the tests may ignore the signal.
  const auto before = signal(SIGHUP, SIG_DFL);
  const auto process = Start();
  signal(SIGHUP, before);
  ASSERT_TRUE(Says(*process, "Ctrl-C ends all.")) << process->StderrText();
  process->Signal(SIGHUP);
  EXPECT_EQ(process->Wait(Patience(60)), 0) << process->StderrText();
  EXPECT_THAT(process->StdoutText(),
              HasSubstr("server ended\nsidecar ended\n"));
}

TEST_F(QuickstartTest, SaysWhichProgramDoesNotStartAndLeavesNoneBehind) {
  ASSERT_OK(RunToEnd({BinaryPath("sortition"), "quickstart", folder(),
                      "--write_only", "--free_ports"})
                .status());
  // Logs are written all the same.
  std::filesystem::remove(folder() + "/logs");
  // No directory can be made there.
  std::filesystem::remove(folder() + "/tuples");
  ASSERT_OK(WriteFile(folder() + "/tuples", "x"));
  const auto process = Start();
  EXPECT_EQ(process->Wait(Patience(60)), 1);
  EXPECT_THAT(process->StderrText(),
              AllOf(HasSubstr("sortition-sidecar ended with status 1"),
                    HasSubstr("/logs/sidecar.log")));
  // The server was told to end, and has.
  EXPECT_THAT(process->StdoutText(), HasSubstr("server ended"));
}

TEST_F(QuickstartTest, RefusesAFolderOfSomebodyElse) {
  ASSERT_OK(WriteFile(dir_.Sub(kFolder) + "/mine", "x"));
  const auto process = Start();
  EXPECT_EQ(process->Wait(Patience(60)), 1);
  EXPECT_THAT(process->StderrText(), HasSubstr("must be absent, empty"));
}

}  // namespace
}  // namespace sortition
