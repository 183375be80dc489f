#pragma once
// A store with two versions, and what is logged while one takes over.

#include "core/base/hash.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/models/serving_state.h"
#include "sortition/config/v1/rollout.pb.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_file.h"

namespace sortition {

// What the versions earn: probabilities of reward 1.
struct Earnings {
  double canary = 0.5;
  double stable = 0.5;
};

// Which units come to the canary depends on a random salt: numbers differ a
// little from run to run.
class RolloutFixture : public testing::Test {
 protected:
  RolloutFixture() {
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_tuples(dir_.Sub("tuples"));
    config::v1::RolloutPlan& plan = *options_.mutable_plan();
    for (const double share : {0.1, 0.5}) plan.add_shares(share);
    for (const double margin : {0.3, 0.2}) plan.add_margins(margin);
    plan.set_min_decisions(100);
    plan.set_min_seconds(0);
    plan.set_unit_window_seconds(0);
  }

  std::string ModelDir() const { return dir_.path() + "/models/default"; }

  model::v1::Serving NowServing() {
    auto serving = ReadServing(ModelDir());
    EXPECT_OK(serving);
    return *serving;
  }

  model::v1::Rollout NowRollout() {
    auto rollout = ReadRollout(ModelDir());
    EXPECT_OK(rollout);
    return rollout->value_or(model::v1::Rollout());
  }

  absl::StatusOr<config::v1::RolloutReport> Start(uint64_t version = 2) {
    config::v1::RolloutOptions options = options_;
    options.set_start(true);
    options.set_version(version);
    return StartRollout(options);
  }

  // Returns what servers log of `n` new units under the split in force.
  std::vector<log::v1::BanditTuple> MakeUnits(int n, const Earnings& earnings) {
    const model::v1::Serving serving = NowServing();
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < n; ++i) {
      const std::string id = absl::StrCat("unit-", next_unit_++);
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_decision_id("decision-" + id);
      decision.set_unit_id(id);
      decision.set_model("default");
      decision.set_time_us(first_us_ + static_cast<int64_t>(next_unit_) * 1000);
      const uint32_t place =
          SplitPlace("default", serving.split().salt(), id, "");
      const int arm = ArmAt(serving.split(), place);
      decision.set_version(arm < 0 ? serving.pinned_version()
                                   : serving.split().arms(arm).version());
      *decision.mutable_arm()->mutable_split() = serving.split();
      decision.mutable_arm()->set_primary_version(serving.pinned_version());
      RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
      tuple.set_reward(
          random.Uniform() < (arm < 0 ? earnings.stable : earnings.canary) ? 1
                                                                           : 0);
      tuple.set_has_feedback(true);
    }
    return tuples;
  }

  void Log(int n, const Earnings& earnings) {
    WriteSegment(dir_.Sub("tuples"), next_segment_++, MakeUnits(n, earnings));
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::RolloutOptions options_;
  const int64_t first_us_ = NowUs() - 3'600'000'000;
  uint64_t next_unit_ = 0;
  uint64_t next_segment_ = 0;
};

}  // namespace sortition
