// The loop that trains every hour, where there is nothing to learn.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/testing/patience.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/train.h"

namespace sortition {
namespace {

constexpr uint32_t kHourCandidates = 4;
constexpr uint32_t kHourFeatures = 8;
constexpr uint32_t kUsersOfHour = 4;
constexpr uint32_t kDecisionsOfUser = 10;

// Users have tastes that have nothing to do with any feature, and the same
// candidates at every decision: for other users, no policy earns more than the
// uniform one that logs. They come back for several hours.
std::vector<log::v1::BanditTuple> MakeHour(uint64_t seed, uint32_t hour) {
  std::vector<log::v1::BanditTuple> tuples;
  for (uint32_t u = 0; u < kUsersOfHour; ++u) {
    // A new user every hour, who stays as long as there are places.
    const uint32_t user = hour + u;
    RandomSequence tastes(SeedKey(1000 * seed + user));
    std::vector<float> features(size_t{kHourCandidates} * kHourFeatures);
    for (float& value : features) value = static_cast<float>(tastes.Normal());
    const auto liked = static_cast<int32_t>(tastes.Below(kHourCandidates));
    RandomSequence random(SeedKey((1000 * seed + user) * 1000 + hour + 1));
    for (uint32_t i = 0; i < kDecisionsOfUser; ++i) {
      const auto action = static_cast<int32_t>(random.Below(kHourCandidates));
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision* decision = tuple.mutable_decision();
      decision->set_decision_id(absl::StrCat(user, "-", hour, "-", i));
      decision->set_unit_id(absl::StrCat("user", user));
      decision->set_time_us((int64_t{hour} * 3600 + i) * 1000000);
      decision->set_model("default");
      decision->set_version(1);
      decision->set_action_kind(log::v1::SELECT);
      decision->set_num_candidates(kHourCandidates);
      decision->set_num_features(kHourFeatures);
      decision->mutable_dense_values()->Add(features.begin(), features.end());
      decision->add_action(action);
      decision->set_log_propensity(-std::log(kHourCandidates));
      tuple.set_has_feedback(true);
      tuple.set_reward(random.Uniform() < (action == liked ? 0.9 : 0.3) ? 1
                                                                        : 0);
    }
  }
  return tuples;
}

// Trains after every hour until something is published. Returns whether it was.
bool IsPublished(uint64_t seed, uint32_t num_hours) {
  const TempDir dir;
  SyntheticLog logging;
  logging.num_features = kHourFeatures;
  logging.num_candidates = kHourCandidates;
  logging.can_abstain = false;
  EXPECT_OK(
      ModelStore(dir / "models").Publish(LoggingModel(logging), nullptr, {}));
  config::v1::TrainOptions options;
  options.set_tuples(dir.Sub("tuples"));
  options.set_model_store(dir / "models");
  // Nothing that keeps it from learning by heart.
  options.mutable_poem()->set_objective(config::v1::PoemOptions::CLIPPED_IPS);
  options.mutable_poem()->set_optimiser(config::v1::PoemOptions::BATCH);
  options.mutable_poem()->set_start(config::v1::PoemOptions::ZERO);
  options.mutable_poem()->add_l2(1e-6);
  constexpr uint32_t kHoursBeforeTheFirst = 10;
  for (uint32_t hour = 0; hour < kHoursBeforeTheFirst + num_hours; ++hour) {
    WriteSegment(dir.Sub("tuples"), hour, MakeHour(seed, hour));
    if (hour < kHoursBeforeTheFirst) continue;
    const auto report = Train(options);
    EXPECT_OK(report);
    if (report.ok() && report->has_version()) return true;
  }
  return false;
}

// The confidence is that of all looks together: one run in forty may publish.
TEST(HourlyTest, NothingIsPublishedWhereNothingCanBeLearned) {
  const uint64_t num_runs = IsLongRun() ? 40 : 1;
  const uint32_t num_hours = IsLongRun() ? 96 : 12;
  int published = 0;
  for (uint64_t seed = 1; seed <= num_runs; ++seed) {
    published += IsPublished(seed, num_hours) ? 1 : 0;
  }
  RecordProperty("published", published);
  EXPECT_LE(published, IsLongRun() ? 1 : 0);
}

}  // namespace
}  // namespace sortition
