// Users who come back: a policy may learn them by heart, and that helps nobody
// else.

#include "core/base/hash.h"
#include "tests/testing/patience.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/train.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {
namespace {

constexpr uint32_t kUnitCandidates = 5;

struct TasteLog {
  uint32_t num_users = 30;
  int decisions_of_user = 300;
  uint32_t num_features = 20;
  bool has_units = true;
  // Every user likes the candidate with the largest first feature; otherwise
  // one that has nothing to do with features, so that for any other user every
  // policy earns the same as the uniform one that logged.
  bool is_shared = false;
  // Versions 1 to this log a user's decisions in turn.
  int num_versions = 1;
};

// Each user sees the same five candidates again and again.
std::vector<log::v1::BanditTuple> MakeTastes(const TasteLog& log,
                                             uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<log::v1::BanditTuple> tuples;
  for (uint32_t user = 0; user < log.num_users; ++user) {
    std::vector<float> features(size_t{kUnitCandidates} * log.num_features);
    for (float& value : features) value = static_cast<float>(random.Normal());
    int32_t liked = static_cast<int32_t>(random.Below(kUnitCandidates));
    for (uint32_t c = 0; log.is_shared && c < kUnitCandidates; ++c) {
      if (features[c * log.num_features] >
          features[static_cast<uint32_t>(liked) * log.num_features]) {
        liked = static_cast<int32_t>(c);
      }
    }
    for (int i = 0; i < log.decisions_of_user; ++i) {
      const int32_t action =
          static_cast<int32_t>(random.Below(kUnitCandidates));
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision* decision = tuple.mutable_decision();
      decision->set_decision_id(absl::StrCat(seed, "-", user, "-", i));
      if (log.has_units) decision->set_unit_id(absl::StrCat("user", user));
      decision->set_model("default");
      decision->set_version(1 + static_cast<uint64_t>(i % log.num_versions));
      decision->set_action_kind(log::v1::SELECT);
      decision->set_num_candidates(kUnitCandidates);
      decision->set_num_features(log.num_features);
      decision->mutable_dense_values()->Add(features.begin(), features.end());
      decision->add_action(action);
      decision->set_log_propensity(-std::log(kUnitCandidates));
      tuple.set_has_feedback(true);
      tuple.set_reward(random.Uniform() < (action == liked ? 0.8 : 0.3) ? 1
                                                                        : 0);
    }
  }
  return tuples;
}

class UnitsTest : public testing::Test {
 protected:
  static config::v1::TrainReport TrainOn(const TasteLog& log, uint64_t seed) {
    SyntheticLog logging{.can_abstain = false,
                         .num_features = log.num_features,
                         .num_candidates = kUnitCandidates};
    const TempDir dir;
    for (int version = 0; version < log.num_versions; ++version) {
      EXPECT_OK(ModelStore(dir / "models")
                    .Publish(LoggingModel(logging), nullptr, {}));
    }
    WriteSegment(dir.Sub("tuples"), 0, MakeTastes(log, seed));
    config::v1::TrainOptions options;
    options.set_tuples(dir / "tuples");
    options.set_model_store(dir / "models");
    options.set_dry_run(true);
    // Nothing that keeps it from learning by heart.
    options.mutable_poem()->set_objective(config::v1::PoemOptions::CLIPPED_IPS);
    options.mutable_poem()->set_optimiser(config::v1::PoemOptions::BATCH);
    options.mutable_poem()->add_l2(1e-6);
    const auto report = Train(options);
    EXPECT_OK(report);
    return report.value_or(config::v1::TrainReport());
  }
  // Returns of how many logs a policy would have been published.
  static int NumPassed(const TasteLog& log, uint64_t num_logs) {
    int passed = 0;
    for (uint64_t seed = 0; seed < num_logs; ++seed) {
      passed += TrainOn(log, 100 + seed).gate_passed() ? 1 : 0;
    }
    return passed;
  }
};

TEST_F(UnitsTest, ThirtyUsersAreNotLearnedByHeart) {
  // Without units, every log passes.
  EXPECT_EQ(NumPassed({.has_units = false}, 2), 2);
  // The nominal rate is one in forty.
  EXPECT_LE(NumPassed({}, IsLongRun() ? 40u : 4u), 1);
}

// Two versions logged each user, and there are enough features to tell them
// apart.
TEST_F(UnitsTest, UsersThatAnOlderVersionServedAreNotLearnedByHeart) {
  TasteLog log = {.num_users = 300,
                  .decisions_of_user = 40,
                  .num_features = 500,
                  .num_versions = 2};
  const auto report = TrainOn(log, 100);
  EXPECT_GT(report.excluded().count(ReasonText(LeftOutReason::kHeldOut)), 0);
  EXPECT_EQ(report.evaluation().test_tuples(),
            20 * report.evaluation().test_units());
  // Some 75 users, whose mean gain has a deviation of some 0.2: 4 standard
  // errors. Learned by heart, they gain 0.16.
  EXPECT_LT(report.evaluation().improvement().value(), 0.1);
  EXPECT_FALSE(report.gate_passed());
  // What all users share is learned.
  log.is_shared = true;
  log.num_features = 20;
  EXPECT_EQ(NumPassed(log, 1), 1);
}

// The loop that trains every hour, where there is nothing to learn.

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
  SyntheticLog logging{.can_abstain = false,
                       .num_features = kHourFeatures,
                       .num_candidates = kHourCandidates};
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
