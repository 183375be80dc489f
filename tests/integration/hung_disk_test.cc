// What the endpoints of probes report while a disk does not answer.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "client/rpc/client.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/http_client.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class HungDiskTest : public testing::Test {
 protected:
  // Programs that start from now on write only while there is no file `hung_`.
  HungDiskTest() {
    setenv("SORTITION_HUNG_DISK", hung_.c_str(), 1);
    setenv("LD_PRELOAD", SORTITION_HUNG_DISK_LIBRARY, 1);
    // A library before its own is no error to the sanitizer.
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
  }
  ~HungDiskTest() override {
    unsetenv("LD_PRELOAD");
    std::filesystem::remove(hung_);
  }

  void HangDisk() { ASSERT_OK(WriteFile(hung_, "")); }
  void RepairDisk() { std::filesystem::remove(hung_); }

  int CodeOf(const char* path) const {
    return GetHttp(deployment_.http_port(), path).code;
  }
  double StalledSeconds() const {
    const auto text = deployment_.SidecarMetrics();
    return text.ok() ? MetricSum(*text, "sortition_sidecar_stalled_seconds")
                     : -1;
  }
  absl::Status Select(const std::string& decision_id) const {
    const auto client = Client::Connect(
        deployment_.address(), {.deadline_seconds = 1, .max_attempts = 1});
    if (!client.ok()) return client.status();
    v1::SelectRequest request;
    *request.mutable_context() = MakeContext(3, 8, 0);
    request.mutable_context()->set_decision_id(decision_id);
    return (*client)->Select(request).status();
  }

  Deployment deployment_;
  const std::string hung_ = deployment_.path("hung");
};

// The only thread that answers calls waits for the disk. The process lives and
// answers over HTTP, but no caller gets a decision.
TEST_F(HungDiskTest, LivenessOfTheServerEndsAndHealthzGoesOn) {
  ASSERT_OK(deployment_.StartServer());
  ASSERT_OK(Select("before"));
  EXPECT_EQ(CodeOf("/livez"), 200);
  HangDisk();
  EXPECT_FALSE(Select("meanwhile").ok());
  EXPECT_EQ(CodeOf("/healthz"), 200);
  EXPECT_EQ(CodeOf("/livez"), 503);
  EXPECT_EQ(CodeOf("/readyz"), 503);
  RepairDisk();
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return CodeOf("/livez") == 200 && CodeOf("/readyz") == 200;
  }));
}

TEST_F(HungDiskTest, SidecarReportsThatItsLoopStalls) {
  ASSERT_OK(deployment_.StartServer());
  ASSERT_OK(deployment_.StartSidecar(
      {JoinWindow(0.2), "--sync_interval_seconds=0.1"}));
  const auto is_stalled = [&](bool expected) {
    constexpr double kTooLong = 2;
    return PollUntil(kPatienceSeconds, [&] {
      const double seconds = StalledSeconds();
      return seconds >= 0 && (seconds > kTooLong) == expected;
    });
  };
  EXPECT_TRUE(is_stalled(false));
  ASSERT_OK(Select("written"));
  HangDisk();
  EXPECT_TRUE(is_stalled(true));
  RepairDisk();
  EXPECT_TRUE(is_stalled(false));
}

}  // namespace
}  // namespace sortition
