// What the alerts say of logs that are bad to learn from, and of a version that
// earns less.
#include <atomic>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

class LearningAlertsTest : public MonitoredTest {
 protected:
  static constexpr uint32_t kFeatures = 2;
  // What a decision of each version earns: 1, but version 2 every fifth time.
  static double RewardOf(uint64_t version, uint64_t i) {
    return version != 2 || i % 5 == 0 ? 1 : 0;
  }
};

TEST_F(LearningAlertsTest, PropensitiesThatAreTinyOrCertain) {
  Publish(SelectionModel(kFeatures, 0.01));
  StartServer();
  StartPrometheus(false);
  // Of 2,000 candidates each has a probability of some 1 in 2,000.
  std::atomic<uint32_t> num_candidates = 2000;
  const Repeating load(
      [&](uint64_t i) { Select(i, num_candidates, kFeatures); });
  ExpectFire({"SortitionTinyPropensities"});
  // Scores that are 1e4/128 apart, and no mixture.
  model::v1::Model certain = SelectionModel(kFeatures, 1e4);
  certain.mutable_policy()->clear_uniform_mixture();
  num_candidates = 10;
  Publish(certain);
  ExpectFire({"SortitionExploresNothing"});
  Publish(SelectionModel(kFeatures, 0.01));
  ExpectQuiet();
}

TEST_F(LearningAlertsTest, RewardsThatAreLessOrLateOrImpossible) {
  Publish(SelectionModel(kFeatures, 0.01));
  StartServer({"--spool.segment_seconds=0.3"});
  StartSidecar({JoinWindow(0.5), "--join.reward_max=2"});
  StartPrometheus(true);
  std::atomic<uint64_t> delay = 0;
  std::atomic<double> more = 0;
  std::map<uint64_t, uint64_t> versions;  // By decision.
  const Repeating load([&](uint64_t i) {
    versions[i] = Select(i, 10, kFeatures);
    if (i < delay) return;
    Report(i - delay, RewardOf(versions[i - delay], i) + more);
  });
  // Means are told of a hundred tuples.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto mean = prometheus_->Query("sortition_sidecar_mean_reward == 1");
    return mean.ok() && !mean->empty();
  }));
  Publish(SelectionModel(kFeatures, 0.02));
  ExpectFire({"SortitionNewVersionEarnsLess"});
  Publish(SelectionModel(kFeatures, 0.03));
  ExpectQuiet();
  more = 5;
  ExpectFire({"SortitionRewardOutOfRange"});
  more = 0;
  // Decisions that the load makes in a window and more.
  delay = static_cast<uint64_t>(Patience(200));
  ExpectFire({"SortitionFeedbackLate"});
  delay = 0;
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
