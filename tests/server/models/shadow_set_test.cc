// Which versions look on, and which must not.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/models/serving_set.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ServingSet::Model Version(uint64_t version, bool plays_f_score_game) {
  auto model = std::make_shared<ServedModel>();
  model->name = "m";
  model->version = version;
  if (plays_f_score_game) {
    model->policy.mutable_game_subset()->set_measure(
        model::v1::GameSubset::F_BETA);
  } else {
    model->policy.mutable_independent_subset();
  }
  return model;
}

// Version 3 plays a game.
absl::StatusOr<std::shared_ptr<const ServingSet>> Make(
    const model::v1::Serving& serving, const ServingSet::Model& primary) {
  return MakeServingSet(
      "m", serving, primary,
      [](uint64_t version, const ServedModel&)
          -> absl::StatusOr<std::shared_ptr<const ServedModel>> {
        return Version(version, version == 3);
      });
}

model::v1::Serving WithShadow(uint64_t version, uint32_t every) {
  model::v1::Serving serving;
  serving.add_shadows()->set_version(version);
  serving.mutable_shadows(0)->set_every(every);
  return serving;
}

TEST(ShadowSetTest, ShadowsAreLoaded) {
  ASSERT_OK_AND_ASSIGN(const auto set,
                       Make(WithShadow(2, 5), Version(1, false)));
  ASSERT_EQ(set->shadows.size(), 1u);
  EXPECT_EQ(set->shadows[0].model->version, 2u);
  EXPECT_EQ(set->shadows[0].every, 5u);
  EXPECT_EQ(set->loaded.size(), 2u);
}

TEST(ShadowSetTest, AnFScoreGameMustNotLookOn) {
  EXPECT_THAT(Make(WithShadow(3, 5), Version(1, false)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("shadows.version 3"),
                             HasSubstr("F-score game"))));
}

TEST(ShadowSetTest, InModeShadowThePrimaryVersionLooksOnAtAll) {
  model::v1::Serving serving = WithShadow(2, 5);
  serving.set_mode(model::v1::SHADOW);
  ASSERT_OK_AND_ASSIGN(const auto set, Make(serving, Version(1, false)));
  ASSERT_EQ(set->shadows.size(), 2u);
  EXPECT_EQ(set->shadows[1].model->version, 1u);
  EXPECT_EQ(set->shadows[1].every, 1u);
}

TEST(ShadowSetTest, InModeShadowThePrimaryVersionMayLookOnAtSome) {
  model::v1::Serving serving = WithShadow(1, 5);
  serving.set_mode(model::v1::SHADOW);
  ASSERT_OK_AND_ASSIGN(const auto set, Make(serving, Version(1, false)));
  ASSERT_EQ(set->shadows.size(), 1u);
  EXPECT_EQ(set->shadows[0].every, 5u);
}

TEST(ShadowSetTest, ModeShadowIsNotForFScoreGames) {
  model::v1::Serving serving;
  serving.set_mode(model::v1::SHADOW);
  EXPECT_THAT(
      Make(serving, Version(3, true)),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("mode = SHADOW"), HasSubstr("F-score game"))));
}

}  // namespace
}  // namespace sortition
