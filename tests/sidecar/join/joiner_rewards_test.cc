// Which rewards are joined, and the rewards of single ranks.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sidecar/join/rank_rewards.h"
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
  for (const log::v1::RankReward& rank :
       RankRewardsOf(closed_[0], "", GetParam().aggregation)) {
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
  EXPECT_THAT(RankRewardsOf(closed_[0], "", JoinOptions::SUM), IsEmpty());
}

}  // namespace
}  // namespace sortition
