// Tests of the program itself: it is killed, ended by SIGTERM, and asked for
// its metrics.
#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::HasSubstr;

int64_t NowMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A running sidecar, killed by the destructor if it still runs.
class Sidecar {
 public:
  explicit Sidecar(const std::string& dir,
                   const std::vector<std::string>& more = {}) {
    const char* bin = std::getenv("SORTITION_BIN");
    if (bin == nullptr) {
      ADD_FAILURE() << "SORTITION_BIN must name the directory of the programs";
      return;
    }
    std::vector<std::string> arguments = {
        absl::StrCat(bin, "/sortition-sidecar"),
        absl::StrCat("--spool=", dir, "/spool"),
        absl::StrCat("--tuples=", dir, "/tuples"),
        "--reward_wait_time_seconds=10", "--slack_seconds=1",
        // The log of some tests lies in the future.
        "--max_lead_seconds=1e6", "--segment_bytes=65536",
        "--sync_interval_seconds=0.01", "--poll_seconds=0.02",
        "--metrics_listen=127.0.0.1:0", "--http_listen=127.0.0.1:0",
        absl::StrCat("--port_file=", dir, "/ports")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    EXPECT_EQ(
        posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  }
  ~Sidecar() {
    if (pid_ > 0) End(SIGKILL);
  }
  // Returns the exit status, or minus the signal that ended the process.
  int End(int signal) {
    // kill(-1, …) would end every process of the machine.
    if (pid_ > 0) kill(pid_, signal);
    return Wait();
  }
  int Wait() {
    if (pid_ <= 0) {
      ADD_FAILURE() << "the sidecar does not run";
      return -1;
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Scrape(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  const std::string request =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof(buffer))) > 0) {
    answer.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  return answer;
}

// Writes as the server does, not faster than `allowed`: every fifth segment is
// left as by a killed server; the next one begins before the last is closed.
void WriteLive(const std::string& spool,
               const std::vector<log::v1::LogRecord>& history,
               const std::atomic<size_t>& allowed) {
  std::unique_ptr<SegmentWriter> current;
  for (size_t i = 0; i < history.size(); ++i) {
    if (i % 40 == 0) {
      auto next = NewSegment(spool, static_cast<int64_t>(i) + 1, i);
      if (current != nullptr && i % 200 != 0) {
        EXPECT_OK(current->Close());
      }
      current = std::move(next);
    }
    EXPECT_TRUE(WaitUntil([&] { return allowed >= i; }));
    EXPECT_OK(current->Append(history[i]));
  }
}

// Log times are ahead of the clock, so that only the log closes windows and the
// result does not depend on the speed of the machine.
TEST(SidecarProcessTest, EveryDecisionHasOneTupleWhateverIsKilled) {
  const TempDir dir(FastParent());
  std::filesystem::create_directories(dir / "spool");
  const auto history = History(1500, 12, NowMicros() + 3600 * kSecond);
  const Expected expected = ExpectedOutput(history);
  std::atomic<size_t> allowed{0};
  std::thread writer([&] { WriteLive(dir / "spool", history, allowed); });
  std::mt19937 random(1);
  constexpr size_t kKills = 25;
  for (size_t i = 0; i < kKills; ++i) {
    Sidecar sidecar(dir.path());
    // Let it run until it has written some more; it may or may not be busy
    // then.
    const size_t target = ReadTuples(dir / "tuples").size() + random() % 50;
    const size_t steps = history.size() / (kKills + 1);
    for (size_t step = 0; step < steps; ++step) ++allowed;
    // At least every fifth record is a decision, and 22 of them may have open
    // windows.
    const size_t closed = allowed / 5 > 22 ? allowed / 5 - 22 : 0;
    EXPECT_TRUE(WaitUntil([&] {
      return ReadTuples(dir / "tuples").size() >= std::min(target, closed);
    }));
    EXPECT_EQ(sidecar.End(SIGKILL), -SIGKILL);
  }
  allowed = history.size();
  writer.join();
  Sidecar sidecar(dir.path());
  EXPECT_TRUE(WaitUntil([&] {
    return Output(dir / "tuples").tuples.size() >= expected.tuples.size();
  }));
  EXPECT_EQ(sidecar.End(SIGTERM), 0);
  const Expected output = Output(dir / "tuples");
  EXPECT_EQ(output.tuples, expected.tuples);
  EXPECT_EQ(output.late, expected.late);
}

TEST(SidecarProcessTest, SigtermTakesWhatIsThereAndLeavesOpenWindows) {
  const TempDir dir(FastParent());
  const int64_t future_us = NowMicros() + 3600 * kSecond;
  WriteSpool(dir / "spool",
             {DecisionRecord("a", future_us),
              DecisionRecord("b", future_us + 12 * kSecond)},
             10);
  {
    Sidecar sidecar(dir.path());
    ASSERT_TRUE(WaitUntil([&] { return !ReadAll(dir / "ports").empty(); }));
    EXPECT_EQ(sidecar.End(SIGTERM), 0);
  }
  // b closes a; b's own window is open.
  EXPECT_THAT(Output(dir / "tuples").tuples, testing::ElementsAre("a 0 "));
  const auto names = ListSegments(dir / "tuples");
  ASSERT_OK(names);
  const auto is_live = SegmentHasLiveWriter(dir / "tuples/" + names->back());
  EXPECT_FALSE(*is_live);
}

TEST(SidecarProcessTest, ServesItsMetrics) {
  const TempDir dir(FastParent());
  WriteSpool(dir / "spool", {DecisionRecord("a", NowMicros() - 60 * kSecond)},
             10);
  Sidecar sidecar(dir.path());
  ASSERT_TRUE(WaitUntil([&] { return !ReadAll(dir / "ports").empty(); }));
  int port = 0;
  ASSERT_EQ(sscanf(ReadAll(dir / "ports").c_str(), "metrics %d", &port), 1);
  // The wall clock closes the window, since nothing follows in the log.
  EXPECT_TRUE(WaitUntil([&] {
    return testing::Matches(HasSubstr(
        "sortition_join_tuples_total{reward=\"default\"} 1"))(Scrape(port));
  }));
  EXPECT_THAT(Scrape(port), HasSubstr("sortition_sidecar_stalled_seconds "));
  EXPECT_EQ(sidecar.End(SIGTERM), 0);
}

TEST(SidecarProcessTest, RefusesWrongOptions) {
  const TempDir dir(FastParent());
  EXPECT_EQ(Sidecar(dir.path(), {"--slack_seconds=-1"}).Wait(), 2);
  EXPECT_EQ(Sidecar(dir.path(), {"--no_such_flag=1"}).Wait(), 2);
  EXPECT_EQ(Sidecar(dir.path(), {"surplus"}).Wait(), 2);
}

}  // namespace
}  // namespace sortition
