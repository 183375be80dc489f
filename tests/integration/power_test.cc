// Durability POWER: every answer comes after a sync of its record.
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr char kSyncs[] = "sortition_spool_sync_seconds_count";

class PowerTest : public testing::Test {
 protected:
  void StartServer(const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--spool.durability=POWER",
                                      "--spool.sync_interval_seconds=3600"};
    flags.insert(flags.end(), more.begin(), more.end());
    ASSERT_OK(deployment_.StartServer(flags));
  }

  Deployment deployment_;
};

TEST_F(PowerTest, EachAnswerOfOneClientHadASync) {
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  // The syncs that close a segment are not counted.
  StartServer({"--spool.segment_seconds=3600"});
  SelectLoad load({.address = deployment_.address(), .threads = 1});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() >= 100; }));
  load.Stop();
  EXPECT_TRUE(load.failures().empty());
  ASSERT_OK_AND_ASSIGN(const std::string metrics, deployment_.ServerMetrics());
  EXPECT_GE(MetricSum(metrics, kSyncs),
            static_cast<double>(load.answered().size()));
  EXPECT_EQ(MetricSum(metrics, "sortition_spool_waiting"), 0);
}

TEST_F(PowerTest, KillLosesNothingThatWasAnswered) {
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  const std::vector<std::string> small = {"--spool.segment_bytes=65536"};
  StartServer(small);
  SelectLoad load({.address = deployment_.address(), .threads = 16});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 1000; }));
  deployment_.server().Kill();
  StartServer(small);
  load.SetAddress(deployment_.address());
  const uint64_t before = load.num_answered();
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return load.num_answered() > before + 1000; }));
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  load.Stop();
  std::vector<std::string> answered = load.answered();
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> logged,
                       SpoolDecisionIds(deployment_.spool()));
  std::sort(answered.begin(), answered.end());
  std::sort(logged.begin(), logged.end());
  EXPECT_TRUE(std::includes(logged.begin(), logged.end(), answered.begin(),
                            answered.end()));
}

}  // namespace
}  // namespace sortition
