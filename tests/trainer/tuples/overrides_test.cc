#include "trainer/tuples/overrides.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Optional;

log::v1::BanditTuple Decided(uint64_t version, int action, bool is_overridden) {
  log::v1::BanditTuple tuple;
  tuple.mutable_decision()->set_version(version);
  tuple.mutable_decision()->set_action_kind(log::v1::SELECT);
  tuple.mutable_decision()->set_num_candidates(3);
  tuple.mutable_decision()->add_action(action);
  if (is_overridden) tuple.mutable_shown()->add_shown(2);
  return tuple;
}

// Adds 1000 decisions, of which `overridden` are.
void AddThousand(uint64_t version, int action, int overridden,
                 OverriddenShare* share) {
  for (int i = 0; i < 1000; ++i) {
    share->Add(Decided(version, action, i < overridden));
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
