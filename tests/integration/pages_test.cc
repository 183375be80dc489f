// An order that is shown page by page, with the real programs: two pages that
// come in the wrong order, reports of viewports and feedback about ranks become
// one tuple, whatever becomes of the sidecar meanwhile.
#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr uint32_t kFeatures = 4;
constexpr uint32_t kRanks = 6;

class PagesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(
        deployment_.store().Publish(RankingModel(kFeatures, 0.5), nullptr, {}));
    ASSERT_OK(deployment_.StartServer());
    StartSidecar();
    ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
  }

  void StartSidecar() {
    ASSERT_OK(deployment_.StartSidecar(
        {JoinWindow(8), "--join.only_if_shown", "--delete_spool"}));
  }

  std::string Run(const std::vector<std::string>& words) {
    std::vector<std::string> arguments = words;
    arguments[0] = BinaryPath(words[0]);
    const auto run = RunToEnd(arguments);
    EXPECT_OK(run);
    if (!run.ok()) return "";
    EXPECT_EQ(run->exit_code, 0) << run->stdout_text << run->stderr_text;
    return run->stdout_text;
  }

  // Returns the order that was decided.
  std::vector<uint32_t> Rank(const std::string& id) {
    v1::RankRequest request;
    *request.mutable_context() = MakeContext(8, kFeatures, 1);
    request.mutable_context()->set_decision_id(id);
    request.set_top_k(kRanks);
    const auto response = client_->Rank(request);
    EXPECT_OK(response);
    if (!response.ok()) return {};
    return {response->order().begin(), response->order().end()};
  }

  // Reports the ranks [first, end) of an order.
  void ReportPage(const std::string& id, const std::vector<uint32_t>& order,
                  uint32_t first, uint32_t end) {
    v1::ReportShownRequest request;
    request.set_decision_id(id);
    request.set_first_rank(first);
    for (uint32_t rank = first; rank < end; ++rank) {
      request.add_shown(order[rank]);
    }
    EXPECT_OK(client_->ReportShown(request));
  }

  void ReportRank(const std::string& id, uint32_t rank, double reward) {
    v1::ReportFeedbackRequest request;
    v1::Feedback* feedback = request.add_feedback();
    feedback->set_decision_id(id);
    feedback->set_rank(rank);
    feedback->set_reward(reward);
    EXPECT_OK(client_->ReportFeedback(request));
  }

  // Waits for `count` tuples, ends both programs and returns the tuples.
  std::vector<log::v1::BanditTuple> Finish(size_t count) {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto ids = TupleIds(deployment_.tuples());
      return ids.ok() && ids->size() >= count;
    }));
    deployment_.server().Signal(SIGTERM);
    EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
    deployment_.sidecar().Signal(SIGTERM);
    EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
    std::vector<log::v1::BanditTuple> tuples;
    EXPECT_OK(VisitRecords(deployment_.tuples(), /*closed=*/true,
                           [&](const log::v1::LogRecord& record) {
                             if (!record.has_tuple()) return;
                             tuples.push_back(record.tuple());
                           }));
    return tuples;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
};

TEST_F(PagesTest, PagesViewportsAndRankFeedbackBecomeOneTuple) {
  const std::vector<uint32_t> order = Rank("paged");
  ASSERT_EQ(order.size(), kRanks);
  ReportPage("paged", order, 3, 6);
  Run({"sortition", "shown", "--server=" + deployment_.address(),
       "--decision_id=paged", "--seen_ranks=5"});
  deployment_.sidecar().Kill();
  StartSidecar();
  ReportPage("paged", order, 0, 3);
  ReportPage("paged", order, 0, 2);  // Again; the first report counts.
  Run({"sortition", "shown", "--server=" + deployment_.address(),
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
  EXPECT_THAT(
      Run({"sortition", "log", "stats", deployment_.tuples(), "--output=json"}),
      AllOf(HasSubstr("\"tuples_with_seen_ranks\":1"),
            HasSubstr("\"mean_shown_ranks\":5"),
            HasSubstr("\"mean_seen_ranks\":5")));
  EXPECT_THAT(Run({"sortition", "log", "validate", deployment_.tuples()}),
              HasSubstr("PASS  ranks"));
}

// A server cannot know how long the order was: what is beyond it is logged,
// joined, and found.
TEST_F(PagesTest, RanksBeyondTheOrderAreFound) {
  const std::vector<uint32_t> order = Rank("short");
  ReportRank("short", kRanks, 1);
  Run({"sortition", "shown", "--server=" + deployment_.address(),
       "--decision_id=short", "--seen_ranks=9"});
  const auto tuples = Finish(1);
  ASSERT_EQ(tuples.size(), 1u);
  ASSERT_EQ(tuples[0].rank_rewards_size(), 1);
  EXPECT_EQ(tuples[0].rank_rewards(0).rank(), kRanks);
  EXPECT_EQ(tuples[0].shown().seen_ranks(), 9u);
  EXPECT_THAT(Run({"sortition", "log", "validate", deployment_.tuples()}),
              AllOf(HasSubstr("feedback is about rank 6, must be in [0, 6)"),
                    HasSubstr("seen_ranks is 9, must be in [1, 6]")));
}

}  // namespace
}  // namespace sortition
