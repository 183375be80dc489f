// Users who come back: a policy may learn them by heart, and that helps nobody
// else.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/testing/patience.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/train.h"

namespace sortition {
namespace {

constexpr uint32_t kUsers = 30;
constexpr int kDecisionsOfUser = 300;
constexpr uint32_t kFeatures = 20;
constexpr uint32_t kCandidates = 5;

// Each user sees the same five candidates again and again and likes one of
// them, which has nothing to do with features. For any other user, every policy
// earns the same as the uniform one that logged.
std::vector<log::v1::BanditTuple> TasteLog(uint64_t seed, bool has_units) {
  RandomSequence random(SeedKey(seed));
  std::vector<log::v1::BanditTuple> tuples;
  for (uint32_t user = 0; user < kUsers; ++user) {
    std::vector<float> features(size_t{kCandidates} * kFeatures);
    for (float& value : features) value = static_cast<float>(random.Normal());
    const int32_t liked = static_cast<int32_t>(random.Below(kCandidates));
    for (int i = 0; i < kDecisionsOfUser; ++i) {
      const int32_t action = static_cast<int32_t>(random.Below(kCandidates));
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision* decision = tuple.mutable_decision();
      decision->set_decision_id(absl::StrCat(seed, "-", user, "-", i));
      if (has_units) decision->set_unit_id(absl::StrCat("user", user));
      decision->set_model("default");
      decision->set_version(1);
      decision->set_action_kind(log::v1::SELECT);
      decision->set_num_candidates(kCandidates);
      decision->set_num_features(kFeatures);
      decision->mutable_dense_values()->Add(features.begin(), features.end());
      decision->add_action(action);
      decision->set_log_propensity(-std::log(kCandidates));
      tuple.set_has_feedback(true);
      tuple.set_reward(random.Uniform() < (action == liked ? 0.8 : 0.3) ? 1
                                                                        : 0);
    }
  }
  return tuples;
}

class UnitsTest : public TrainFixture {
 protected:
  // Returns of how many logs a policy would have been published.
  int NumPublished(int num_logs, bool has_units) {
    int published = 0;
    for (int log = 0; log < num_logs; ++log) {
      const std::string dir =
          dir_.Sub(absl::StrCat("log", log, has_units ? "-units" : ""));
      WriteSegment(dir, 0,
                   TasteLog(100 + static_cast<uint64_t>(log), has_units));
      config::v1::TrainOptions options;
      options.set_tuples(dir);
      options.set_model_store(dir_.Sub("models"));
      options.set_dry_run(true);
      options.mutable_poem()->add_lambda(0.5);
      options.mutable_poem()->add_l2(1e-4);
      const auto report = Train(options);
      EXPECT_OK(report);
      published += report.ok() && report->gate_passed() ? 1 : 0;
    }
    return published;
  }
};

TEST_F(UnitsTest, ThirtyUsersAreNotLearnedByHeart) {
  SyntheticLog log;
  log.num_features = kFeatures;
  log.num_candidates = kCandidates;
  log.can_abstain = false;
  ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
  // Without units, every log passes.
  EXPECT_EQ(NumPublished(3, /*has_units=*/false), 3);
  // The nominal rate is one in forty.
  const int num_logs = IsLongRun() ? 40 : 6;
  EXPECT_LE(NumPublished(num_logs, /*has_units=*/true), 1);
}

}  // namespace
}  // namespace sortition
