#include "server/models/serving_set.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kSalt[] = "salt: '0123456789abcdef0123456789abcdef' ";

model::v1::Serving Parse(const std::string& text) {
  model::v1::Serving serving;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &serving));
  return serving;
}

ServingSet::Model MakeVersion(uint64_t version) {
  auto model = std::make_shared<ServedModel>();
  model->name = "m";
  model->version = version;
  model->num_features = 2;
  model->bytes = 100 * version;
  return model;
}

class ServingSetTest : public testing::Test {
 protected:
  // Makes the set, with `primary` as the version that serves unless pinned.
  absl::StatusOr<std::shared_ptr<const ServingSet>> Make(
      const std::string& text, ServingSet::Model primary = MakeVersion(7)) {
    loads_.clear();
    return MakeServingSet(
        "m", Parse(text), primary,
        [&](uint64_t version,
            const ServedModel& beside) -> absl::StatusOr<ServingSet::Model> {
          loads_[version] = beside.version;
          if (version == 13) return absl::DataLossError("unlucky");
          return MakeVersion(version);
        });
  }

  std::map<uint64_t, uint64_t> loads_;  // What it was measured against.
};

TEST_F(ServingSetTest, HoldsEachVersionOnce) {
  ASSERT_OK_AND_ASSIGN(
      const auto set,
      Make(absl::StrCat(
          "pinned_version: 6 split { arms { version: 8 ranges { end: 10 } } ",
          kSalt,
          "} labels { name: 'a' version: 8 } labels { name: 'b' version: 6 } "
          "shadows { version: 5 every: 3 } shadows { version: 8 every: 1 }")));
  EXPECT_EQ(set->primary->version, 6u);
  EXPECT_EQ(set->bytes(), 1900u);
  // The first is measured against what serves, the others against the first.
  EXPECT_THAT(loads_, ElementsAre(Pair(5, 6), Pair(6, 7), Pair(8, 6)));
}

TEST_F(ServingSetTest, SaysWhichVersionCannotServeAndAsWhat) {
  EXPECT_THAT(Make("pinned_version: 13"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "pinned_version 13: unlucky"));
  EXPECT_THAT(Make("labels { name: 'a' version: 13 }"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "label \"a\" of version 13: unlucky"));
}

// While the uniform policy serves, requests must suit the versions that they
// may name, and these each other.
TEST_F(ServingSetTest, TheUniformPolicyIsNoMeasure) {
  const auto uniform = MakeUniformModel("m", 0);
  ASSERT_OK_AND_ASSIGN(
      const auto set,
      Make("labels { name: 'a' version: 3 } labels { name: 'b' version: 4 }",
           uniform));
  EXPECT_EQ(set->primary->version, 0u);
  EXPECT_EQ(set->shape->version, 3u);
  EXPECT_THAT(loads_, ElementsAre(Pair(3, 0), Pair(4, 3)));
  ASSERT_OK_AND_ASSIGN(const auto alone, Make("", uniform));
  EXPECT_EQ(alone->shape->version, 0u);
}

TEST_F(ServingSetTest, WithoutASplitThereAreNoArms) {
  ASSERT_OK_AND_ASSIGN(const auto set, Make(""));
  EXPECT_FALSE(set->is_split());
  EXPECT_THAT(loads_, IsEmpty());
}

TEST_F(ServingSetTest, ArmsThatHaveAllPlacesLeaveNoneToThePrimary) {
  ASSERT_OK_AND_ASSIGN(
      const auto set,
      Make(absl::StrCat("split { arms { version: 8 ranges { end: 10000 } } ",
                        kSalt, "}")));
  ASSERT_EQ(set->arms.size(), 1u);
  EXPECT_EQ(set->arms[0].probability, 1);
  EXPECT_EQ(set->ArmOf("", "x").model->version, 8u);
}

ServingSet::Model MakeRankVersion(uint64_t version, bool is_ranking = true) {
  auto model = std::make_shared<ServedModel>(*MakeVersion(version));
  model->policy.set_inverse_temperature(1);
  if (is_ranking) {
    model->policy.mutable_plackett_luce();
  } else {
    model->policy.mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::LINEAR);
  }
  model->rank = *LinearPolicy::Create(model->policy, {1, 2});
  return model;
}

constexpr char kInterleave[] =
    "interleave { version: 8 method: TEAM_DRAFT parts: 2500 "
    "salt: '0123456789abcdef0123456789abcdef' } ";

absl::StatusOr<std::shared_ptr<const ServingSet>> MakeInterleaved(
    const std::string& text, ServingSet::Model primary,
    bool is_ranking = true) {
  return MakeServingSet(
      "m", Parse(kInterleave + text), primary,
      [&](uint64_t version,
          const ServedModel&) -> absl::StatusOr<ServingSet::Model> {
        return MakeRankVersion(version, is_ranking);
      });
}

TEST(InterleavedSetTest, SomeUnitsGetWhatTwoVersionsMake) {
  ASSERT_OK_AND_ASSIGN(const auto set, MakeInterleaved("", MakeRankVersion(7)));
  EXPECT_EQ(set->loaded.size(), 2u);
  ASSERT_TRUE(set->interleaved.has_value());
  EXPECT_EQ(set->interleaved->other->version, 8u);
  EXPECT_EQ(set->interleaved->probability, 0.25);
  constexpr int kUnits = 20'000;
  uint64_t count = 0;
  for (int i = 0; i < kUnits; ++i) {
    const std::string unit = absl::StrCat("unit-", i);
    const auto* const interleaved = set->InterleavedFor(unit, "a");
    EXPECT_EQ(set->InterleavedFor(unit, "b"), interleaved);
    count += interleaved == nullptr ? 0 : 1;
  }
  EXPECT_GT(ChiSquarePValue(std::vector{count, kUnits - count},
                            std::vector{0.25, 0.75}),
            1e-3);
}

TEST(InterleavedSetTest, OtherPoliciesAreRefusedByName) {
  EXPECT_THAT(MakeInterleaved("", MakeRankVersion(7), false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("interleave: version 8: policy is "
                                 "boltzmann_ranking, must be plackett_luce")));
  const auto load =
      [](uint64_t version,
         const ServedModel&) -> absl::StatusOr<ServingSet::Model> {
    return MakeRankVersion(version, version == 8);
  };
  EXPECT_THAT(
      MakeServingSet("m", Parse(absl::StrCat(kInterleave, "pinned_version: 7")),
                     MakeRankVersion(7, false), load),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("interleave: version 7: policy is")));
}

TEST(InterleavedSetTest, ANewestVersionOfAnotherPolicyServesAlone) {
  ASSERT_OK_AND_ASSIGN(const auto set,
                       MakeInterleaved("", MakeRankVersion(7, false)));
  EXPECT_EQ(set->primary->version, 7u);
  EXPECT_FALSE(set->interleaved.has_value());
}

// Once the newest version that loads is the other one, or before there is one,
// a single version answers.
TEST(InterleavedSetTest, OneVersionAloneIsNotInterleaved) {
  ASSERT_OK_AND_ASSIGN(const auto same,
                       MakeInterleaved("", MakeRankVersion(8)));
  EXPECT_FALSE(same->interleaved.has_value());
  EXPECT_EQ(same->InterleavedFor("u", "d"), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto uniform,
                       MakeInterleaved("", MakeUniformModel("m", 0)));
  EXPECT_FALSE(uniform->interleaved.has_value());
}

// The share of each arm, and that a unit stays where it is.
TEST_F(ServingSetTest, UnitsComeToTheirArmsInTheirShares) {
  ASSERT_OK_AND_ASSIGN(
      const auto set,
      Make(absl::StrCat("split { arms { version: 8 ranges { end: 1000 } } "
                        "arms { version: 9 ranges { begin: 4000 end: 6500 } } ",
                        kSalt, "}")));
  constexpr int kUnits = 20'000;
  std::map<uint64_t, uint64_t> counts;
  for (int i = 0; i < kUnits; ++i) {
    const std::string unit = absl::StrCat("unit-", i);
    const uint64_t version = set->ArmOf(unit, "a").model->version;
    EXPECT_EQ(set->ArmOf(unit, "b").model->version, version);
    ++counts[version];
  }
  // The units are fixed, so that the test does not flicker.
  EXPECT_GT(ChiSquarePValue(std::vector{counts[8], counts[9], counts[7]},
                            std::vector{0.1, 0.25, 0.65}),
            1e-3);
}

}  // namespace
}  // namespace sortition
