// The short form of bench/rollout: how rollouts of known versions end.
#include <cstdint>

#include "bench/rollout/rollout_world.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr uint64_t kRuns = 40;

struct Ends {
  int back = 0;
  int half = 0;
  int all = 0;
};

Ends RunMany(double effect) {
  // Without the first stage, which takes most of the time.
  const config::v1::RolloutPlan plan = SimulationPlan({0.1, 0.5}, {0.03, 0.01});
  Ends ends;
  for (uint64_t run = 0; run < kRuns; ++run) {
    const SimulatedRollout rollout =
        SimulateRollout({.mean_reward = 0.6,
                         .effect = effect,
                         .look_every = 1000,
                         .most_decisions = 1'000'000},
                        plan, run);
    ends.back += rollout.end == RolloutAction::kGoBack ? 1 : 0;
    ends.half += rollout.stages_passed >= 1 ? 1 : 0;
    ends.all += rollout.stages_passed == 2 ? 1 : 0;
  }
  return ends;
}

TEST(SimulatedRolloutsTest, WorseVersionsGoBackAndNoneReachesHalf) {
  const Ends ends = RunMany(-0.05);
  EXPECT_EQ(ends.half, 0);
  EXPECT_EQ(ends.back, static_cast<int>(kRuns));
}

TEST(SimulatedRolloutsTest, BetterVersionsServeAllAndFewGoBack) {
  const Ends ends = RunMany(0.05);
  EXPECT_GE(ends.all, static_cast<int>(kRuns) * 9 / 10);
  EXPECT_LE(ends.back, 1);
}

}  // namespace
}  // namespace sortition
