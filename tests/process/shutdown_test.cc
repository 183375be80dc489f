#include "process/shutdown.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// Each case runs in its own process, because a signal that came stays pending.

[[noreturn]] void SignalWakesEveryWaiter(int signal,
                                         Hangup hangup = Hangup::kReload) {
  ::signal(SIGHUP, SIG_DFL);  // Whoever runs the tests may ignore it.
  BlockShutdownSignals(hangup);
  if (WaitForShutdown(0)) std::exit(1);  // Before the signal.
  bool woken[2] = {false, false};
  std::thread first([&] { woken[0] = WaitForShutdown(30); });
  std::thread second([&] { woken[1] = WaitForShutdown(-1); });
  ::kill(::getpid(), signal);
  first.join();
  second.join();
  // Once true, always true.
  const bool again = WaitForShutdown(0) && WaitForShutdown(-1);
  std::exit(woken[0] && woken[1] && again ? 0 : 2);
}

[[noreturn]] void HangupIsNoEnd(Hangup hangup) {
  BlockShutdownSignals(hangup);
  ::kill(::getpid(), SIGHUP);
  std::exit(WaitForShutdown(0) ? 1 : 0);
}

[[noreturn]] void NohupIsKept() {
  ::signal(SIGHUP, SIG_IGN);
  HangupIsNoEnd(Hangup::kEnd);
}

[[noreturn]] void TimesOut() {
  BlockShutdownSignals();
  const auto start = std::chrono::steady_clock::now();
  const bool arrived = WaitForShutdown(0.05);
  const auto waited = std::chrono::steady_clock::now() - start;
  std::exit(!arrived && waited >= std::chrono::milliseconds(50) ? 0 : 1);
}

[[noreturn]] void BrokenPipeIsNoSignal() {
  BlockShutdownSignals();
  int ends[2];
  if (::pipe(ends) != 0) std::exit(1);
  ::close(ends[0]);
  const char byte = 0;
  std::exit(::write(ends[1], &byte, 1) < 0 ? 0 : 2);
}

TEST(ShutdownTest, SigtermWakesEveryWaiter) {
  EXPECT_EXIT(SignalWakesEveryWaiter(SIGTERM), testing::ExitedWithCode(0), "");
}

TEST(ShutdownTest, SigintWakesEveryWaiter) {
  EXPECT_EXIT(SignalWakesEveryWaiter(SIGINT), testing::ExitedWithCode(0), "");
}

TEST(ShutdownTest, SighupEndsProgramsOfATerminalOnly) {
  EXPECT_EXIT(SignalWakesEveryWaiter(SIGHUP, Hangup::kEnd),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(HangupIsNoEnd(Hangup::kReload), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(NohupIsKept(), testing::ExitedWithCode(0), "");
}

TEST(ShutdownTest, ReturnsFalseAfterTheTimeout) {
  EXPECT_EXIT(TimesOut(), testing::ExitedWithCode(0), "");
}

TEST(ShutdownTest, WritingToAClosedPipeDoesNotKill) {
  EXPECT_EXIT(BrokenPipeIsNoSignal(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sortition
