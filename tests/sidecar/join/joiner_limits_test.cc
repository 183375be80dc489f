// What hostile or broken clients and clocks may not do to a join.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using JoinerLimitsTest = JoinerTest;

TEST_F(JoinerLimitsTest, AWrongIdHoldsOnlyItsShare) {
  options_.set_max_held_per_decision(2);
  for (int i = 0; i < 4; ++i) Feed(absl::StrCat("f", i), "null", i, 1);
  Feed("g", "other", 4, 1);
  EXPECT_THAT(late_, ElementsAre("f2:unknown", "f3:unknown"));
  EXPECT_EQ(joiner().counts().held_overflow, 2u);
  Decide("null", 5);
  Advance(16.5);
  ASSERT_THAT(closed_, SizeIs(1));
  EXPECT_EQ(closed_[0].records.size(), 2u);
  EXPECT_THAT(late_, ElementsAre("f2:unknown", "f3:unknown", "g:unknown"));
}

TEST_F(JoinerLimitsTest, UnknownIdsTogetherAreBounded) {
  options_.set_max_held(3);
  for (int i = 0; i < 5; ++i) {
    Feed(absl::StrCat("f", i), absl::StrCat("x", i), i, 1);
  }
  EXPECT_THAT(late_, ElementsAre("f3:unknown", "f4:unknown"));
  // What expires or finds its decision makes room.
  Decide("x1", 5);
  Feed("f5", "x5", 6, 1);
  EXPECT_THAT(late_, SizeIs(2));
  Advance(30);
  EXPECT_THAT(late_, SizeIs(5));
  for (int i = 6; i < 9; ++i) {
    Feed(absl::StrCat("f", i), absl::StrCat("x", i), 31, 1);
  }
  EXPECT_THAT(late_, SizeIs(5));
}

// Each expiry once moved all later records of the id: 600,000 took minutes.
TEST_F(JoinerLimitsTest, ManyRecordsOfOneIdExpireInTime) {
  options_.set_max_held_per_decision(1000000);
  constexpr int kRecords = 600000;
  for (int i = 0; i < kRecords; ++i) {
    Feed(absl::StrCat("f", i), "null", 1e-5 * i, 1);
  }
  EXPECT_THAT(late_, IsEmpty());
  Advance(30);
  ASSERT_THAT(late_, SizeIs(kRecords));
  EXPECT_EQ(late_.front(), "f0:unknown");
  EXPECT_EQ(late_.back(), "f599999:unknown");
}

TEST_F(JoinerLimitsTest, ARecordFromTheFutureCountsAsOfNow) {
  Decide("a", 0);
  joiner().SetLatestTime(At(3));
  Feed("ahead", "x", 86400, 1);
  Decide("b", 86400);
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_EQ(joiner().counts().corrected_times, 2u);
  EXPECT_EQ(joiner().watermark_us(), At(3));
  joiner().SetLatestTime(At(100));
  Feed("f", "a", 5, 3);
  Feed("g", "b", 12, 4);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(3, 4));
  EXPECT_THAT(late_, ElementsAre("ahead:unknown"));
  EXPECT_TRUE(joiner().IsOver(At(3)));
}

}  // namespace
}  // namespace sortition
