#include "trainer/tuples/scan/overrides.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Optional;

log::v1::BanditTuple Decided(uint64_t version, int action, bool is_overridden,
                             int day) {
  log::v1::BanditTuple tuple;
  tuple.mutable_decision()->set_time_us(day * int64_t{86'400'000'000} + 5);
  tuple.mutable_decision()->set_version(version);
  tuple.mutable_decision()->set_action_kind(log::v1::SELECT);
  tuple.mutable_decision()->set_num_candidates(3);
  tuple.mutable_decision()->add_action(action);
  if (is_overridden) tuple.mutable_shown()->add_shown(2);
  return tuple;
}

// Adds 1000 decisions, of which `overridden` are.
void AddThousand(uint64_t version, int action, int overridden,
                 OverriddenShare* share, int day = 20'000) {
  for (int i = 0; i < 1000; ++i) {
    share->Add(Decided(version, action, i < overridden, day));
  }
}

TEST(OverriddenShareTest, WarnsWhereItDependsOnTheVersion) {
  OverriddenShare share;
  EXPECT_EQ(share.Warning(), std::nullopt);
  AddThousand(1, 0, 100, &share);
  AddThousand(2, 0, 110, &share);
  EXPECT_EQ(share.count(), 210);
  EXPECT_EQ(share.Warning(), std::nullopt);  // Noise.
  // 10 %, 11 % and 30 %: 17 % of all.
  AddThousand(3, 0, 300, &share);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("30 % of those of version 3, "
                                                  "17 % with the same")));
}

// An action that is overridden more often than another says nothing about the
// versions that choose it.
TEST(OverriddenShareTest, AllowsForTheActionsThatVersionsChoose) {
  OverriddenShare share;
  for (int i = 0; i < 9; ++i) {
    AddThousand(1, 0, 500, &share);
    AddThousand(2, 1, 10, &share);
  }
  AddThousand(1, 1, 10, &share);
  AddThousand(2, 0, 500, &share);
  EXPECT_EQ(share.Warning(), std::nullopt);
  AddThousand(3, 1, 200, &share);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("20 % of those of version "
                                                  "3")));
}

// Overrides grow from day to day, and so does the share of the new version.
TEST(OverriddenShareTest, AllowsForTheDaysOnWhichVersionsDecide) {
  OverriddenShare share;
  for (int i = 0; i < 9; ++i) AddThousand(1, 0, 100, &share, 20'000);
  AddThousand(2, 0, 100, &share, 20'000);
  AddThousand(1, 0, 300, &share, 20'001);
  for (int i = 0; i < 9; ++i) AddThousand(2, 0, 300, &share, 20'001);
  EXPECT_EQ(share.Warning(), std::nullopt);
}

// Over all days both have 32.5 %, on each day version 2 has 20 % more. Version
// 1 would have 1,000 of 28 % and 9,000 of 37 %.
TEST(OverriddenShareTest, WarnsWhereDaysHideWhatDependsOnTheVersion) {
  OverriddenShare share;
  AddThousand(1, 0, 100, &share, 20'000);
  for (int i = 0; i < 9; ++i) AddThousand(2, 0, 300, &share, 20'000);
  for (int i = 0; i < 9; ++i) AddThousand(1, 0, 350, &share, 20'001);
  AddThousand(2, 0, 550, &share, 20'001);
  EXPECT_THAT(share.Warning(),
              Optional(HasSubstr("32.5 % of those of version 1, 36.1 % with")));
}

TEST(OverriddenShareTest, SaysWhereNobodyCanTell) {
  OverriddenShare share;
  AddThousand(1, 0, 100, &share, 20'000);
  EXPECT_EQ(share.Warning(), std::nullopt);  // One version.
  AddThousand(2, 0, 400, &share, 20'001);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("Nobody can tell whether")));
  AddThousand(2, 0, 100, &share, 20'000);
  EXPECT_EQ(share.Warning(), std::nullopt);
}

TEST(OverridesTest, TheOptionSaysWhoseRewardItIs) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 200);
  for (size_t i = 0; i < tuples.size(); i += 4) {
    tuples[i].mutable_shown()->add_shown(
        tuples[i].decision().action(0) == 0 ? 1 : 0);
  }
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options;
  options.set_tuples(dir.Sub("t"));
  const auto hidden = [&] {
    const TupleData data = *ReadTuples(options, {});
    EXPECT_EQ(data.overridden.count(), 50);
    size_t count = 0;
    for (const auto* part : {&data.train, &data.validation, &data.test}) {
      for (const BanditTuple& tuple : *part) count += !tuple.action_shown;
    }
    return count;
  };
  EXPECT_EQ(hidden(), 0);
  options.set_overrides("as_shown");
  EXPECT_EQ(hidden(), 50);
  options.set_overrides("never");
  EXPECT_THAT(
      ReadTuples(options, {}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("overrides is 'never', must be intent_to_treat or")));
}

}  // namespace
}  // namespace sortition
