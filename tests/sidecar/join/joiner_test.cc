#include "sidecar/join/joiner.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"

namespace sortition {
namespace {

using config::v1::JoinOptions;
using testing::ElementsAre;
using testing::IsEmpty;

struct AggregationCase {
  JoinOptions::Aggregation aggregation;
  double reward;
};

class AggregationTest : public JoinerTest,
                        public testing::WithParamInterface<AggregationCase> {};

// Rewards 5 at 3 s, 1 at 2 s and 3 at 4 s, in this order in the spool. The
// earliest is 1, the sum 9, the mean 3, the largest 5, the smallest 1.
TEST_P(AggregationTest, AggregatesTheRewardsOfTheWindow) {
  options_.set_aggregation(GetParam().aggregation);
  Decide("a", 0);
  Feed("f1", "a", 3, 5);
  Feed("f2", "a", 2, 1);
  Feed("f3", "a", 4, 3);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(GetParam().reward));
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_TRUE(closed_[0].has_feedback);
  EXPECT_EQ(closed_[0].records.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, AggregationTest,
                         testing::Values(AggregationCase{JoinOptions::EARLIEST,
                                                         1},
                                         AggregationCase{JoinOptions::SUM, 9},
                                         AggregationCase{JoinOptions::MEAN, 3},
                                         AggregationCase{JoinOptions::MAX, 5},
                                         AggregationCase{JoinOptions::MIN, 1}));

TEST_F(JoinerTest, DecisionWithoutFeedbackGetsTheDefault) {
  Decide("a", 0);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(-7));
  EXPECT_FALSE(closed_[0].has_feedback);
}

// It closes when the watermark is after 0 + 10 + 1 seconds, not at that time.
TEST_F(JoinerTest, ClosesStrictlyAfterWindowAndSlack) {
  Decide("a", 0);
  Advance(11);
  EXPECT_THAT(closed_, IsEmpty());
  Advance(11.000001);
  EXPECT_EQ(closed_.size(), 1u);
}

TEST_F(JoinerTest, LogTimesAloneCloseAWindow) {
  Decide("a", 0);
  Decide("b", 11.5);
  EXPECT_EQ(closed_.size(), 1u);
}

// 10 s after the decision is inside the window, a microsecond later is outside.
TEST_F(JoinerTest, FeedbackExactlyAtTheWindowCounts) {
  Decide("a", 0);
  Feed("f1", "a", 10, 1);
  Feed("f2", "a", 10.000001, 2);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(1));
  EXPECT_THAT(late_, ElementsAre("f2:late"));
  EXPECT_EQ(joiner().counts().after_window, 1u);
}

TEST_F(JoinerTest, FeedbackOfAnEmittedDecisionIsLateForOneMoreWindow) {
  Decide("a", 0);
  Advance(12);
  Feed("f1", "a", 20, 1);         // 0 + 2 · 10: the id is still known.
  Feed("f2", "a", 20.000001, 1);  // Not known any more: held, then late.
  EXPECT_THAT(late_, ElementsAre("f1:late"));
  Advance(32);
  EXPECT_THAT(late_, ElementsAre("f1:late", "f2:unknown"));
}

TEST_F(JoinerTest, EarlyFeedbackAndShownAreJoined) {
  Feed("f1", "a", 1, 2);
  Show("a", 1.5);
  Decide("a", 2);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(2));
  EXPECT_EQ(closed_[0].records.size(), 2u);
  EXPECT_THAT(late_, IsEmpty());
}

// Feedback at 1 s waits for a decision until 11 s of log time, inclusive.
TEST_F(JoinerTest, EarlyFeedbackWaitsOneWindow) {
  Feed("f1", "a", 1, 2);
  Feed("f2", "b", 0.999999, 3);
  Decide("a", 11);
  Decide("b", 11);
  Advance(40);
  EXPECT_THAT(Rewards(), ElementsAre(2, -7));
  EXPECT_THAT(late_, ElementsAre("f2:unknown"));
}

// The record is in the spool before its decision, but its time is after the
// window.
TEST_F(JoinerTest, EarlyInTheSpoolButAfterTheWindowIsLate) {
  options_.set_slack_seconds(100);
  Feed("f1", "a", 10.5, 2);
  Decide("a", 0);
  Advance(200);
  EXPECT_THAT(Rewards(), ElementsAre(-7));
  EXPECT_THAT(late_, ElementsAre("f1:late"));
}

TEST_F(JoinerTest, FeedbackForNoDecisionIsUnknownAfterAWindow) {
  Feed("f1", "nobody", 0, 1);
  Advance(11);
  EXPECT_THAT(late_, IsEmpty());
  Advance(11.5);
  EXPECT_THAT(late_, ElementsAre("f1:unknown"));
  EXPECT_EQ(joiner().counts().unknown_decision, 1u);
}

TEST_F(JoinerTest, DropsDuplicatesByFeedbackId) {
  Decide("a", 0);
  Feed("f1", "a", 1, 2);
  Feed("f1", "a", 2, 2);
  Feed("f1", "a", 15, 2);  // A retry after the window is not late feedback.
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(2));
  EXPECT_THAT(late_, IsEmpty());
  EXPECT_EQ(joiner().counts().duplicate_feedback, 2u);
}

TEST_F(JoinerTest, DropsASecondDecisionWithTheSameId) {
  Decide("a", 0);
  Decide("a", 1);
  Feed("f1", "a", 2, 3);
  Advance(12);
  Decide("a", 15);  // Emitted, but remembered.
  Advance(60);
  EXPECT_THAT(Rewards(), ElementsAre(3));
  EXPECT_EQ(closed_[0].time_us, At(0));
  EXPECT_EQ(joiner().counts().duplicate_decisions, 2u);
}

TEST_F(JoinerTest, AnIdIsFreeAgainAfterTwoWindows) {
  Decide("a", 0);
  Advance(19);
  Decide("a", 20);  // 0 + 2 · 10: still a duplicate.
  Decide("a", 20.000001);
  Advance(40);
  EXPECT_EQ(closed_.size(), 2u);
}

// The same with one late look: nothing was emitted in between.
TEST_F(JoinerTest, AnIdIsFreeAgainThoughItsFirstUseIsStillPending) {
  joiner().AddDecision(NextPlace(), "a", At(0), {.answer = 1});
  joiner().AddDecision(NextPlace(), "a", At(20), {.answer = 1});
  joiner().AddDecision(NextPlace(), "a", At(30),
                       {.answer = 1});  // A new use: 0 + 30.
  Feed("f1", "a", 31, 5);
  Feed("f2", "a", 32, 5);  // After the first use was emitted.
  Advance(50);
  EXPECT_THAT(Rewards(), ElementsAre(-7, 10));
  EXPECT_THAT(late_, IsEmpty());
  EXPECT_EQ(joiner().counts().duplicate_decisions, 1u);
}

TEST_F(JoinerTest, FeedbackAfterTwoWindowsIsUnknownThoughNothingWasEmitted) {
  joiner().AddDecision(NextPlace(), "a", At(0), {.answer = 1});
  Feed("f1", "a", 20.000001, 1);
  Advance(60);
  EXPECT_THAT(late_, ElementsAre("f1:unknown"));
}

// A retry was answered by another version: neither answer gets a tuple.
TEST_F(JoinerTest, TwoAnswersToOneIdAreAmbiguous) {
  Decide("a", 0, 1);
  Decide("b", 0, 1);
  Decide("c", 0, 1);
  Decide("a", 10, 2);
  Decide("b", 10, 1);         // The same answer again.
  Decide("c", 10.000001, 2);  // After the window: a duplicate.
  Advance(40);
  std::vector<bool> ambiguous;
  for (const ClosedDecision& closed : closed_) {
    ambiguous.push_back(closed.is_ambiguous);
  }
  EXPECT_THAT(ambiguous, ElementsAre(true, false, false));
  EXPECT_EQ(joiner().counts().duplicate_decisions, 3u);
}

// A clock is briefly an hour ahead: later decisions stay open for their window.
TEST_F(JoinerTest, AClockThatWasAheadClosesNothingEarly) {
  Advance(3600);
  Decide("a", 0);
  Feed("f1", "a", 5, 1);
  Advance(3611);
  EXPECT_THAT(closed_, IsEmpty());
  Advance(3611.5);
  EXPECT_THAT(Rewards(), ElementsAre(1));
}

// So does feedback that waits for its decision: it expires after 3600 + 11 s.
TEST_F(JoinerTest, AClockThatWasAheadKeepsEarlyFeedback) {
  Advance(3600);
  Feed("f1", "a", 0, 1);
  Decide("a", 0.5);
  Feed("f2", "nobody", 0.5, 1);
  Advance(3611);
  EXPECT_THAT(late_, IsEmpty());
  Advance(3611.5);
  EXPECT_THAT(Rewards(), ElementsAre(1));
  EXPECT_THAT(late_, ElementsAre("f2:unknown"));
}

TEST_F(JoinerTest, TheHeadBlocksSoThatOrderIsTheSpools) {
  Decide("a", 5);
  Decide("b", 4.5);  // Out of order, within the slack.
  Advance(15.9);     // b's window is over, a's is not.
  EXPECT_THAT(closed_, IsEmpty());
  Advance(16.1);
  ASSERT_EQ(closed_.size(), 2u);
  EXPECT_EQ(closed_[0].time_us, At(5));
  EXPECT_EQ(closed_[1].time_us, At(4.5));
}

TEST_F(JoinerTest, OnlyIfShownLeavesOutTheRest) {
  options_.set_only_if_shown(true);
  Decide("shown", 0);
  Decide("silent", 0);
  Decide("not shown", 0);
  Decide("shown late", 0);
  Show("shown", 1);
  Show("not shown", 1, true);
  Show("shown late", 10.5);
  Advance(20);
  std::vector<bool> wanted;
  for (const ClosedDecision& closed : closed_) {
    wanted.push_back(closed.is_wanted);
  }
  EXPECT_THAT(wanted, ElementsAre(true, false, false, false));
  EXPECT_EQ(joiner().counts().shown, 2u);
  EXPECT_EQ(joiner().counts().unused_shown, 1u);
}

TEST_F(JoinerTest, TheFirstShownCounts) {
  Decide("a", 0);
  Show("a", 1);
  Show("a", 2, true);
  Advance(20);
  ASSERT_EQ(closed_.size(), 1u);
  ASSERT_EQ(closed_[0].records.size(), 1u);
  EXPECT_EQ(closed_[0].records[0].time_us, At(1));
  EXPECT_EQ(joiner().counts().unused_shown, 1u);
}

TEST_F(JoinerTest, SurvivesAbsurdTimes) {
  log::v1::Feedback feedback;
  feedback.set_feedback_id("f");
  feedback.set_decision_id("a");
  feedback.set_time_us(std::numeric_limits<int64_t>::min());
  joiner().AddDecision(NextPlace(), "a", std::numeric_limits<int64_t>::max(),
                       {.answer = 1});
  joiner().AddFeedback(NextPlace(), feedback);
  joiner().AddDecision(NextPlace(), "b", std::numeric_limits<int64_t>::min(),
                       {.answer = 1});
  Collect();
  EXPECT_EQ(joiner().num_pending(), 2u);
}

}  // namespace
}  // namespace sortition
