// What hostile or broken clients and clocks may not do to a join.
#include <limits>
#include <string>
#include <vector>

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

// The first feedback of a decision is joined, and what exceeds the limit is
// late. Its ids are not remembered: only the decision and the three that were
// joined.
TEST_F(JoinerLimitsTest, AKnownDecisionTakesOnlyItsShareOfFeedback) {
  options_.set_max_feedback_per_decision(3);
  Decide("a", 0);
  for (int i = 0; i < 5; ++i) Feed(absl::StrCat("f", i), "a", 1, 1);
  Feed("f1", "a", 1, 1);  // Repeats what was joined.
  EXPECT_THAT(late_, ElementsAre("f3:many", "f4:many"));
  EXPECT_EQ(joiner().counts().too_many, 2u);
  EXPECT_EQ(joiner().counts().feedback, 3u);
  EXPECT_EQ(joiner().counts().duplicate_feedback, 1u);
  EXPECT_THAT(joiner().IdsOfSegment(1), SizeIs(4));
  Advance(12);
  ASSERT_THAT(closed_, SizeIs(1));
  EXPECT_EQ(closed_[0].reward, 3);
  EXPECT_EQ(closed_[0].records.size(), 3u);
}

// Four items of 400 KiB: two fit into 1 MiB, and so does a small one behind
// them. A single one is joined however large it is.
TEST_F(JoinerLimitsTest, AKnownDecisionTakesAMebibyteOfFeedback) {
  const std::string kilobytes(400 << 10, 'x');
  Decide("a", 0);
  for (int i = 0; i < 4; ++i) Feed(absl::StrCat(i, kilobytes), "a", 1, 1);
  Feed("small", "a", 1, 10);
  Decide("b", 2);
  Feed(std::string(2 << 20, 'y'), "b", 3, 5);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(12, 5));
  EXPECT_EQ(joiner().counts().too_many, 2u);
  EXPECT_EQ(joiner().OldestNeededSegment(),
            std::numeric_limits<uint32_t>::max());
}

// A restart finds only the segments of what was kept, and must keep the same.
TEST_F(JoinerLimitsTest, WhatWasTooManyMayBeMissingAfterARestart) {
  options_.set_max_feedback_per_decision(2);
  std::vector<double> rewards;
  for (const bool is_missing : {false, true}) {
    joiner_.reset();
    closed_.clear();
    Decide("a", 0);
    Feed("f0", "a", 1, 1);
    Feed("f1", "a", 1, 2);
    segment_ = 2;
    if (!is_missing) Feed("f2", "a", 2, 4);
    EXPECT_EQ(joiner().OldestNeededSegment(), 1u);
    segment_ = 3;
    Feed("f3", "a", 3, 8);
    Advance(20);
    rewards.push_back(closed_.at(0).reward);
    segment_ = 1;
  }
  EXPECT_THAT(rewards, ElementsAre(3, 3));
}

// Each report once looked at all other records of its decision: this took many
// minutes.
TEST_F(JoinerLimitsTest, ManyRecordsOfAKnownDecisionTakeLinearTime) {
  constexpr int kRecords = 300000;
  options_.set_max_feedback_per_decision(kRecords);
  Decide("a", 0);
  for (int i = 0; i < kRecords; ++i)
    joiner().AddFeedback(NextPlace(), [&] {
      log::v1::Feedback feedback;
      feedback.set_feedback_id(absl::StrCat(i));
      feedback.set_decision_id("a");
      feedback.set_time_us(At(1));
      return feedback;
    }());
  EXPECT_LT(joiner().counts().feedback, kRecords);  // 1 MiB.
  for (int i = 0; i < kRecords; ++i) Show("a", 2);
  EXPECT_EQ(joiner().counts().shown, 1u);
  EXPECT_EQ(joiner().counts().unused_shown, kRecords - 1u);
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
