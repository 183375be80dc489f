// Server and sidecar tell their supervisor what they do, as systemd's units of
// deploy/systemd expect it.
#include <signal.h>

#include <string>

#include "tests/integration/deployment.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr int kWatchdogMicros = 200'000;

// Expects READY, at least three signs of life, and after SIGTERM an end with
// nothing but STOPPING behind the last of them.
void ExpectSupervised(NotifySocket* socket, ChildProcess* process) {
  EXPECT_EQ(socket->Next(kPatienceSeconds), "READY=1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(socket->Next(kPatienceSeconds), "WATCHDOG=1");
  }
  process->Signal(SIGTERM);
  std::string last = "WATCHDOG=1";
  while (last == "WATCHDOG=1") last = socket->Next(kPatienceSeconds);
  EXPECT_EQ(last, "STOPPING=1");
  EXPECT_EQ(process->Wait(kPatienceSeconds), 0) << process->StderrText();
  EXPECT_EQ(socket->Next(0), "");
}

TEST(SupervisorTest, HearsFromAServer) {
  Deployment deployment;
  NotifySocket socket(deployment.path("notify"), kWatchdogMicros);
  ASSERT_OK(deployment.StartServer({"--threads=2"}));
  ExpectSupervised(&socket, &deployment.server());
}

TEST(SupervisorTest, HearsFromASidecar) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  NotifySocket socket(deployment.path("notify"), kWatchdogMicros);
  ASSERT_OK(deployment.StartSidecar());
  ExpectSupervised(&socket, &deployment.sidecar());
}

}  // namespace
}  // namespace sortition
