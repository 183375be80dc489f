// Reports about ranks that contradict each other, come too early, too late or
// twice, with the real programs: each ends as docs/join.md says.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/ranks/reports_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Rank and reward, with the number of feedback behind it.
using RankReward = std::pair<uint32_t, std::pair<double, uint32_t>>;

std::vector<RankReward> RankRewards(const log::v1::BanditTuple& tuple) {
  std::vector<RankReward> rewards;
  for (const log::v1::RankReward& rank : tuple.rank_rewards()) {
    rewards.push_back({rank.rank(), {rank.reward(), rank.count()}});
  }
  return rewards;
}

class RankReportsTest : public ReportsFixture {};

TEST_F(RankReportsTest, FirstReportOfAPageCountsWhateverOthersSay) {
  Start(/*window_seconds=*/3);
  const std::vector<uint32_t> order = Rank("contradicted");
  ASSERT_EQ(order.size(), kRanks);
  ReportPage("contradicted", order, 0, 3);
  KillSidecar();
  // The same page in another order: of it, how far the user looked counts.
  ReportShown("contradicted", 0, {order[2], order[1], order[0]}, 4);
  // The rank that this page shares with the first is that of the first.
  ReportShown("contradicted", 2, {order[5], order[3], order[4]});
  // A page from the top that says that nothing was shown comes too late.
  ReportShown("contradicted", 0, {});
  const std::vector<uint32_t> hidden = Rank("hidden");
  ReportShown("hidden", 0, {});
  ReportPage("hidden", hidden, 0, 3);
  ReportShown("hidden", 0, {}, 2);
  ExpectCount("unused_shown_total", 3);
  const auto tuples = Finish(2);
  ASSERT_EQ(tuples.size(), 2u);

  EXPECT_THAT(tuples[0].shown().shown(),
              ElementsAre(order[0], order[1], order[2], order[3], order[4]));
  EXPECT_EQ(tuples[0].shown().seen_ranks(), 4u);
  EXPECT_FALSE(tuples[0].shown().not_shown());
  EXPECT_THAT(tuples[1].shown().shown(), IsEmpty());
  EXPECT_TRUE(tuples[1].shown().not_shown());
  EXPECT_FALSE(tuples[1].shown().has_seen_ranks());
}

TEST_F(RankReportsTest, RewardsBeforeTheirDecisionAndItsPagesAreJoined) {
  Start(/*window_seconds=*/3);
  ReportRank("early", 4, 0.5);
  ReportShown("early", 0, {}, 2);
  KillSidecar();
  const std::vector<uint32_t> order = Rank("early");
  ReportRank("early", 1, 0.25);
  ReportPage("early", order, 3, 6);
  ReportPage("early", order, 0, 3);
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_THAT(RankRewards(tuples[0]),
              ElementsAre(Pair(1, Pair(0.25, 1)), Pair(4, Pair(0.5, 1))));
  EXPECT_EQ(tuples[0].reward(), 0.75);
  EXPECT_THAT(tuples[0].shown().shown(), ElementsAreArray(order));
  EXPECT_EQ(tuples[0].shown().seen_ranks(), 2u);
  EXPECT_THAT(Late(), IsEmpty());
}

TEST_F(RankReportsTest, FeedbackIdCountsOnceAlsoWithAnotherRank) {
  Start(/*window_seconds=*/3);
  Rank("repeated");
  EXPECT_OK(Report({RankFeedback("repeated", 1, 0.25, "click"),
                    RankFeedback("repeated", 1, 0.25, "click"),
                    RankFeedback("repeated", 1, 0.5, "more"),
                    RankFeedback("repeated", 3, 0.125, "other")}));
  KillSidecar();
  ReportRank("repeated", 1, 0.25, "click");
  ReportRank("repeated", 2, 1, "click");
  WaitForTuples(deployment_.tuples(), 1);
  // The window is over, and the id is still known.
  ReportRank("repeated", 3, 0.125, "other");
  ExpectCount("duplicate_feedback_total", 4);
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_THAT(RankRewards(tuples[0]),
              ElementsAre(Pair(1, Pair(0.75, 2)), Pair(3, Pair(0.125, 1))));
  EXPECT_EQ(tuples[0].reward(), 0.875);
  EXPECT_EQ(tuples[0].feedback_size(), 3);
  EXPECT_THAT(Late(), IsEmpty());
}

TEST_F(RankReportsTest, RewardsAfterTheWindowAreLateWithTheirRank) {
  Start(/*window_seconds=*/3);
  const std::vector<uint32_t> order = Rank("slow");
  ReportRank("slow", 0, 0.25, "in time");
  WaitForTuples(deployment_.tuples(), 1);
  ReportRank("slow", 2, 0.5, "late");
  ReportPage("slow", order, 0, 3);
  ExpectCount("late_total", 1);
  KillSidecar();
  ExpectCount("unused_shown_total", 1);
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_THAT(RankRewards(tuples[0]), ElementsAre(Pair(0, Pair(0.25, 1))));
  EXPECT_EQ(tuples[0].reward(), 0.25);
  EXPECT_FALSE(tuples[0].has_shown());
  const auto late = Late();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].reason(), log::v1::LateFeedback::AFTER_WINDOW);
  EXPECT_EQ(late[0].feedback().feedback_id(), "late");
  EXPECT_EQ(late[0].feedback().rank(), 2u);
  EXPECT_EQ(late[0].feedback().reward(), 0.5);
}

// No order has a rank of the server's limits.max_candidates. Of a batch with
// such feedback nothing is logged.
TEST_F(RankReportsTest, BatchWithARankThatNoOrderHasIsRefusedWhole) {
  Start(/*window_seconds=*/1);
  Rank("refused");
  const absl::Status status =
      Report({RankFeedback("refused", 0, 1, "good"),
              RankFeedback("refused", 4294967295, 1, "bad")});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank = 4294967295: must be in [0, "));
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_FALSE(tuples[0].has_feedback());
  EXPECT_THAT(Late(), IsEmpty());
}

}  // namespace
}  // namespace sortition
