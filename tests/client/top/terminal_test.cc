// `top` on a terminal and in a pipe, and what it does when they are gone.
#include "client/top/terminal.h"

#include <pty.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/top/top_command.h"
#include "gtest/gtest.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

// Each case runs in its own process, of which `top` takes input, output and
// signals.

// Exits with 0 if `top` ends without an error. Nobody listens where it asks.
[[noreturn]] void RunTopToItsEnd(double refresh_seconds) {
  alarm(static_cast<unsigned>(Patience(30)));  // It may not end.
  config::v1::TopOptions options;
  options.set_server("127.0.0.1:1");
  options.set_refresh_seconds(refresh_seconds);
  CommandOutput output{std::cout, std::cerr};
  _exit(RunTop(options, {}, &output).ok() ? 0 : 1);
}

// Runs `top` on a terminal of 10 lines of 30 columns, which goes away as soon
// as it has drawn. Exits with 2 if what it has drawn is not `good`.
[[noreturn]] void RunOnATerminal(
    const std::function<bool(const std::string& drawn)>& good) {
  winsize size = {};
  size.ws_row = 10;
  size.ws_col = 30;
  int screen = -1;
  int terminal = -1;
  if (openpty(&screen, &terminal, nullptr, nullptr, &size) != 0) _exit(3);
  dup2(terminal, STDIN_FILENO);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  std::thread([screen, good] {
    std::string drawn;
    char byte = 0;
    while (drawn.find("\x1b[J") == std::string::npos &&
           read(screen, &byte, 1) == 1) {
      drawn.push_back(byte);
    }
    if (!good(drawn)) _exit(2);
    close(screen);
  }).detach();
  // Long before it would look again.
  RunTopToItsEnd(1000);
}

[[noreturn]] void RunIntoAPipeThatNobodyReads() {
  int ends[2];
  if (pipe(ends) != 0) _exit(3);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[0]);
  close(ends[1]);
  RunTopToItsEnd(0.1);
}

bool FitsInto30Columns(const std::string& drawn) {
  const std::string text =
      std::regex_replace(drawn, std::regex("\x1b\\[[0-9;?]*[A-Za-z]|\r"), "");
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line.size() > 30) return false;
  }
  return lines.front() == "server: 127.0.0.1:1: cannot c~";
}

TEST(TerminalTest, TopEndsWhenItsTerminalIsGone) {
  EXPECT_EXIT(RunOnATerminal([](const std::string&) { return true; }),
              testing::ExitedWithCode(0), "");
}

TEST(TerminalTest, LinesAreCutToTheScreen) {
  EXPECT_EXIT(RunOnATerminal(FitsInto30Columns), testing::ExitedWithCode(0),
              "");
}

TEST(TerminalTest, TopEndsWhenNobodyReadsItsOutput) {
  EXPECT_EXIT(RunIntoAPipeThatNobodyReads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sortition
