// Which rewards are joined, and the rewards of single ranks.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"

namespace sortition {
namespace {

using config::v1::JoinOptions;
using testing::ElementsAre;
using testing::IsEmpty;

class RewardRangeTest : public JoinerTest {
 protected:
  RewardRangeTest() {
    options_.set_reward_min(-1);
    options_.set_reward_max(2);
  }
};

TEST_F(RewardRangeTest, TheEndsAreJoinedAndWhatIsBeyondIsLate) {
  Decide("a", 0);
  Feed("f1", "a", 1, -1);
  Feed("f2", "a", 2, -1.5);
  Feed("f3", "a", 3, 2);
  Feed("f4", "a", 4, 2.5);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(1));  // -1 + 2
  EXPECT_THAT(late_, ElementsAre("f2:range", "f4:range"));
  EXPECT_EQ(joiner().counts().out_of_range, 2u);
  EXPECT_EQ(joiner().counts().feedback, 2u);
}

TEST_F(RewardRangeTest, ADecisionWithNothingElseGetsTheDefault) {
  Decide("a", 0);
  Feed("f1", "a", 1, 3);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(-7));
  EXPECT_FALSE(closed_[0].has_feedback);
}

TEST_F(RewardRangeTest, ARepetitionIsADuplicateAndNotLateAgain) {
  Decide("a", 0);
  Feed("f1", "a", 1, 3);
  Feed("f1", "a", 2, 3);
  EXPECT_THAT(late_, ElementsAre("f1:range"));
  EXPECT_EQ(joiner().counts().duplicate_feedback, 1u);
}

// It does not wait for its decision.
TEST_F(RewardRangeTest, FeedbackForAnUnknownDecisionIsLateAtOnce) {
  Feed("f1", "a", 1, 3);
  EXPECT_THAT(late_, ElementsAre("f1:range"));
}

TEST_F(JoinerTest, ByDefaultEveryRewardOfUseIsJoined) {
  Decide("a", 0);
  Decide("b", 0);
  Feed("f1", "a", 1, 1e300);
  Feed("f2", "b", 1, -1e300);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(1e300, -1e300));
  EXPECT_THAT(late_, IsEmpty());
}

class NoSuchCandidateTest
    : public JoinerTest,
      public testing::WithParamInterface<JoinOptions::Aggregation> {
 protected:
  NoSuchCandidateTest() {
    options_.set_aggregation(GetParam());
    num_candidates_ = 3;
  }
};

// Candidates are 0, 1 and 2, so that an order has no rank beyond 2. The
// feedback that names others would be the earliest, the smallest or the
// largest, and would move the sum and the mean.
TEST_P(NoSuchCandidateTest, FeedbackAboutNoCandidateCountsInNoReward) {
  Decide("a", 0);
  FeedIndex("f1", "a", 1, 100, 3);
  FeedIndex("f2", "a", 1, -100, 4'000'000'000);
  Feed("f3", "a", 1, 100, 3);
  FeedIndex("f4", "a", 2, 1, 2);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(1));
  EXPECT_THAT(late_,
              ElementsAre("f1:candidate", "f2:candidate", "f3:candidate"));
  EXPECT_EQ(joiner().counts().no_such_candidate, 3u);
  EXPECT_EQ(joiner().counts().feedback, 1u);
  EXPECT_EQ(closed_[0].records.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, NoSuchCandidateTest,
                         testing::Values(JoinOptions::EARLIEST,
                                         JoinOptions::SUM, JoinOptions::MEAN,
                                         JoinOptions::MAX, JoinOptions::MIN));

TEST_F(JoinerTest, FeedbackAboutNoCandidateLeavesTheDefaultReward) {
  num_candidates_ = 3;
  FeedIndex("early", "a", 0, 1, 3);  // Waits for its decision.
  Decide("a", 1);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(-7));
  EXPECT_FALSE(closed_[0].has_feedback);
  EXPECT_THAT(late_, ElementsAre("early:candidate"));
}

// Where a decision does not say how many candidates it had, and after the
// window, nothing is known about candidates.
TEST_F(JoinerTest, UnknownCandidatesAndLateFeedbackAreJudgedAsBefore) {
  num_candidates_ = 0;
  Decide("a", 0);
  FeedIndex("f1", "a", 1, 2, 77);
  FeedIndex("f2", "a", 10.5, 2, 77);
  Advance(20);
  EXPECT_THAT(Rewards(), ElementsAre(2));
  EXPECT_THAT(late_, ElementsAre("f2:late"));
}

// A double click on rank 0 is one click. A thumb up on rank 1 at 1 s becomes a
// thumb down at 3 s, whatever the order in which the two arrive. Feedback
// without a rank repeats only feedback without a rank.
TEST_F(JoinerTest, OncePerRankTheLastFeedbackOfARankCounts) {
  options_.set_repeats(JoinOptions::ONCE_PER_RANK);
  Decide("a", 0);
  Feed("click", "a", 1, 1, 0);
  Feed("again", "a", 1.2, 1, 0);
  Feed("down", "a", 3, -1, 1);
  Feed("up", "a", 1, 1, 1);
  Feed("bought", "a", 2, 4);
  Feed("returned", "a", 4, 2);
  Decide("b", 0);
  Feed("b1", "b", 1, 1);
  Feed("b2", "b", 1, 3);  // Of one time, the one that was logged last.
  Advance(20);
  // 1 of rank 0, -1 of rank 1, and 2 without a rank.
  EXPECT_THAT(Rewards(), ElementsAre(2, 3));
  std::vector<std::string> ranks;
  for (const log::v1::RankReward& rank : closed_[0].rank_rewards) {
    ranks.push_back(
        absl::StrCat(rank.rank(), ":", rank.reward(), " of ", rank.count()));
  }
  EXPECT_THAT(ranks, ElementsAre("0:1 of 1", "1:-1 of 1"));
  // The log keeps every report.
  EXPECT_EQ(closed_[0].records.size(), 6u);
}

struct RankCase {
  JoinOptions::Aggregation aggregation;
  double reward;       // Of the whole decision.
  double second_rank;  // Of its rank 1.
};

class RankRewardTest : public JoinerTest,
                       public testing::WithParamInterface<RankCase> {};

// Rank 1 has 5 at 3 s and 1 at 2 s, rank 0 has 3 at 4 s, and 8 at 1 s names no
// rank. So of rank 1 the earliest is 1, the sum 6, the mean 3, the largest 5
// and the smallest 1. Of all four the earliest is 8, the sum 17, the mean 4.25,
// the largest 8 and the smallest 1.
TEST_P(RankRewardTest, EachRankIsAggregatedAsTheWhole) {
  options_.set_aggregation(GetParam().aggregation);
  Decide("a", 0);
  Feed("f1", "a", 3, 5, 1);
  Feed("f2", "a", 2, 1, 1);
  Feed("f3", "a", 4, 3, 0);
  Feed("f4", "a", 1, 8);
  Advance(20);
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_EQ(closed_[0].reward, GetParam().reward);
  std::vector<std::string> ranks;
  for (const log::v1::RankReward& rank : closed_[0].rank_rewards) {
    ranks.push_back(
        absl::StrCat(rank.rank(), ":", rank.reward(), " of ", rank.count()));
  }
  EXPECT_THAT(ranks,
              ElementsAre("0:3 of 1",
                          absl::StrCat("1:", GetParam().second_rank, " of 2")));
}

INSTANTIATE_TEST_SUITE_P(All, RankRewardTest,
                         testing::Values(RankCase{JoinOptions::EARLIEST, 8, 1},
                                         RankCase{JoinOptions::SUM, 17, 6},
                                         RankCase{JoinOptions::MEAN, 4.25, 3},
                                         RankCase{JoinOptions::MAX, 8, 5},
                                         RankCase{JoinOptions::MIN, 1, 1}));

TEST_F(JoinerTest, FeedbackWithoutARankMakesNoRankReward) {
  Decide("a", 0);
  Feed("f1", "a", 1, 2);
  Advance(20);
  EXPECT_THAT(closed_[0].rank_rewards, IsEmpty());
}

}  // namespace
}  // namespace sortition
