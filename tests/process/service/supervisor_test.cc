#include "process/service/supervisor.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kSoon = 10;  // What was sent is there at once.

TEST(SupervisorTest, IsToldThatAServiceIsReadyLivesAndStops) {
  const TempDir dir;
  NotifySocket socket(dir / "notify", 40'000'000);
  Supervisor supervisor = Supervisor::FromEnvironment();
  EXPECT_DOUBLE_EQ(supervisor.alive_seconds(), 10);
  supervisor.Ready();
  supervisor.Alive();
  supervisor.Stopping();
  EXPECT_EQ(socket.Next(kSoon), "READY=1");
  EXPECT_EQ(socket.Next(kSoon), "WATCHDOG=1");
  EXPECT_EQ(socket.Next(kSoon), "STOPPING=1");
}

TEST(SupervisorTest, IsToldOnceWhatIsSaidOften) {
  const TempDir dir;
  NotifySocket socket(dir / "notify", 400'000'000);
  Supervisor supervisor = Supervisor::FromEnvironment();
  for (int i = 0; i < 1000; ++i) {
    supervisor.Ready();
    supervisor.Alive();
  }
  supervisor.Stopping();
  supervisor.Stopping();
  EXPECT_EQ(socket.Next(kSoon), "READY=1");
  EXPECT_EQ(socket.Next(kSoon), "WATCHDOG=1");
  EXPECT_EQ(socket.Next(kSoon), "STOPPING=1");
  EXPECT_EQ(socket.Next(0), "");
}

TEST(SupervisorTest, IsToldAgainThatAServiceLives) {
  const TempDir dir;
  // To be called every 2.5 ms: more often than it is heard.
  NotifySocket socket(dir / "notify", 10'000);
  Supervisor supervisor = Supervisor::FromEnvironment();
  supervisor.Alive();
  EXPECT_EQ(socket.Next(kSoon), "WATCHDOG=1");
  std::string next;
  while (next.empty()) {
    supervisor.Alive();
    next = socket.Next(0);
  }
  EXPECT_EQ(next, "WATCHDOG=1");
}

TEST(SupervisorTest, AbstractSocketsAreFound) {
  // '@' is the zero byte of the name.
  const std::string name =
      "@sortition-supervisor-test-" + std::to_string(::getpid());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, name.size());
  address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                          name.size())),
            0);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  Supervisor::FromEnvironment().Ready();
  ::unsetenv("NOTIFY_SOCKET");
  char bytes[16];
  EXPECT_EQ(::recv(descriptor, bytes, sizeof(bytes), MSG_DONTWAIT), 7);
  ::close(descriptor);
}

TEST(SupervisorTest, WithoutOneNothingIsSaid) {
  ::unsetenv("NOTIFY_SOCKET");
  Supervisor supervisor = Supervisor::FromEnvironment();
  EXPECT_LT(supervisor.alive_seconds(), 0);
  CaptureLog();
  supervisor.Ready();
  supervisor.Alive();
  supervisor.Stopping();
  EXPECT_THAT(CapturedLog(), IsEmpty());
}

TEST(SupervisorTest, TheWatchdogOfAnotherProcessIsNotOurs) {
  const TempDir dir;
  NotifySocket socket(dir / "notify", 1'000'000);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid() + 1).c_str(), 1);
  const double other = Supervisor::FromEnvironment().alive_seconds();
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const double ours = Supervisor::FromEnvironment().alive_seconds();
  ::unsetenv("WATCHDOG_PID");
  EXPECT_LT(other, 0);
  EXPECT_DOUBLE_EQ(ours, 0.25);
}

TEST(SupervisorTest, WhatCannotBeSentIsLoggedOnce) {
  for (const std::string& path :
       {std::string("/nonexistent/notify"), std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    Supervisor supervisor = Supervisor::FromEnvironment();
    ::unsetenv("NOTIFY_SOCKET");
    CaptureLog();
    supervisor.Ready();
    EXPECT_THAT(CapturedLog(), HasSubstr("\"NOTIFY_SOCKET\":\"" + path + "\""));
    CaptureLog();
    supervisor.Stopping();
    EXPECT_THAT(CapturedLog(), IsEmpty());
  }
}

}  // namespace
}  // namespace sortition
