// `rollout` as it is called.
#include <string>

#include "gtest/gtest.h"
#include "process/command.h"
#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/commands.h"

namespace sortition {
namespace {

class RolloutCommandTest : public RolloutFixture {};

TEST_F(RolloutCommandTest, ExitsWithWhatHappened) {
  const std::string store = "--model_store=" + dir_.path() + "/models";
  const std::string tuples = "--tuples=" + dir_.Sub("tuples");
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);  // There is none.
  EXPECT_EQ(RunTrainer({"rollout", store, "--start"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--version=2"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--status", "--stop"}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store}), kExitUsage);
  EXPECT_EQ(RunTrainer({"rollout", store, "--start", "--version=9"}),
            kExitError);
  EXPECT_EQ(RunTrainer({"rollout", store, "--start", "--version=2",
                        "--shares=0.1", "--margins=0.1",
                        "--unit_window_seconds=0", "--min_seconds=0"}),
            kExitOk);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);
  EXPECT_EQ(RunTrainer({"rollout", store, "--status", "--output=json"}),
            kExitOk);
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(RunTrainer({"rollout", store, tuples, "--dry_run"}),
            kExitGateSaysNo);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitGateSaysNo);
  EXPECT_EQ(RunTrainer({"rollout", store, tuples}), kExitOk);  // It is over.
  EXPECT_EQ(RunTrainer({"rollout", store, "--stop", "--reason=x"}), kExitError);
}

}  // namespace
}  // namespace sortition
