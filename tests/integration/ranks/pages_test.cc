// An order that is shown page by page, with the real programs: two pages that
// come in the wrong order, reports of viewports and feedback about ranks become
// one tuple, whatever becomes of the sidecar meanwhile.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/ranks/rank_checks.h"
#include "tests/integration/ranks/reports_fixture.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class PagesTest : public ReportsFixture {
 protected:
  void SetUp() override {
    Start(/*window_seconds=*/8, {"--join.only_if_shown", "--delete_spool"});
  }
};

TEST_F(PagesTest, PagesViewportsAndRankFeedbackBecomeOneTuple) {
  const std::vector<uint32_t> order = Rank("paged");
  ASSERT_EQ(order.size(), kRanks);
  ReportPage("paged", order, 3, 6);
  RunWell({"sortition", "shown", "--server=" + deployment_.address(),
           "--decision_id=paged", "--seen_ranks=5"});
  KillSidecar();
  ReportPage("paged", order, 0, 3);
  ReportPage("paged", order, 0, 2);  // Again; the first report counts.
  RunWell({"sortition", "shown", "--server=" + deployment_.address(),
           "--decision_id=paged", "--seen_ranks=2"});
  ReportRank("paged", 4, 1);
  ReportRank("paged", 1, 0.25);
  // The window of this decision ends behind that of the first.
  const std::vector<uint32_t> later = Rank("later");
  ReportPage("later", later, 3, 4);
  const auto tuples = Finish(2);
  ASSERT_EQ(tuples.size(), 2u);

  const log::v1::Shown& shown = tuples[0].shown();
  EXPECT_EQ(shown.decision_id(), "paged");
  EXPECT_THAT(shown.shown(), ElementsAreArray(order));
  EXPECT_EQ(shown.first_rank(), 0u);
  EXPECT_EQ(shown.seen_ranks(), 5u);
  EXPECT_FALSE(shown.not_shown());
  EXPECT_EQ(tuples[0].reward(), 1.25);
  ASSERT_EQ(tuples[0].rank_rewards_size(), 2);
  EXPECT_EQ(tuples[0].rank_rewards(0).rank(), 1u);
  EXPECT_EQ(tuples[0].rank_rewards(0).reward(), 0.25);
  EXPECT_EQ(tuples[0].rank_rewards(1).rank(), 4u);
  EXPECT_EQ(tuples[0].rank_rewards(1).reward(), 1);
  EXPECT_EQ(tuples[1].shown().first_rank(), 3u);
  EXPECT_FALSE(tuples[1].shown().has_seen_ranks());

  // Shown are 6 and 4 ranks.
  EXPECT_THAT(RunWell({"sortition", "log", "stats", deployment_.tuples(),
                       "--output=json"}),
              AllOf(HasSubstr("\"tuples_with_seen_ranks\":1"),
                    HasSubstr("\"mean_shown_ranks\":5"),
                    HasSubstr("\"mean_seen_ranks\":5")));
  EXPECT_THAT(RunWell({"sortition", "log", "validate", deployment_.tuples()}),
              HasSubstr("PASS  ranks"));
}

// A server cannot know how long the order was: what is beyond it is logged,
// joined, and found.
TEST_F(PagesTest, RanksBeyondTheOrderAreFound) {
  const std::vector<uint32_t> order = Rank("short");
  ReportRank("short", kRanks, 1);
  RunWell({"sortition", "shown", "--server=" + deployment_.address(),
           "--decision_id=short", "--seen_ranks=9"});
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  ASSERT_EQ(tuples[0].rank_rewards_size(), 1);
  EXPECT_EQ(tuples[0].rank_rewards(0).rank(), kRanks);
  EXPECT_EQ(tuples[0].shown().seen_ranks(), 9u);
  EXPECT_THAT(RunWell({"sortition", "log", "validate", deployment_.tuples()}),
              AllOf(HasSubstr("feedback is about rank 6, must be in [0, 6)"),
                    HasSubstr("seen_ranks is 9, must be in [1, 6]")));
}

}  // namespace
}  // namespace sortition
