#include "client/upkeep/source_join.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Defaults count as if they were written; what is not about rewards does not
// count, nor does an option of another release.
TEST(SourceJoinTest, OnlyTheMeaningOfRewardsCounts) {
  SourceJoin join;
  ASSERT_OK(join.Take("1", "tuples: \"a\" join { max_held: 7 } of_2030: 1"));
  ASSERT_OK(join.Take("2",
                      "tuples: \"b\" compress: ZSTD join { aggregation: SUM "
                      "keep_probability: 0.5 }"));
  EXPECT_EQ(join.options_text().substr(0, 11), "tuples: \"b\"");
  for (const char* other :
       {"tuples: \"a\" join { reward_wait_time_seconds: 5 }",
        "tuples: \"a\" join { default_reward: 1 }",
        "tuples: \"a\" join { only_if_shown: true }",
        "tuples: \"a\" join { reward_min: 0 }",
        "tuples: \"a\" join { reward_max: 1 }", "", "imported"}) {
    EXPECT_THAT(join.Take("3", other),
                StatusIs(absl::StatusCode::kFailedPrecondition))
        << other;
  }
}

TEST(SourceJoinTest, OtherWritersAreComparedByTheirText) {
  SourceJoin join;
  ASSERT_OK(join.Take("1", "replays: 4"));
  EXPECT_OK(join.Take("2", "replays: 4"));
  EXPECT_THAT(join.Take("3", "replays: 5"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace sortition
