// Two ranking versions compared with the real programs: interleaved by
// `sortition models`, served, joined, verified and judged.
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
using ::testing::HasSubstr;

constexpr uint32_t kInterleavedFeatures = 8;
constexpr int kDecisions = 120;

// Versions 1 and 2 rank the other way round; 1 is pinned.
class InterleavingIntegrationTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const double scale : {0.05, -0.05}) {
      ASSERT_OK(deployment_.store().Publish(
          RankingModel(kInterleavedFeatures, scale), nullptr, {}));
    }
    ASSERT_OK(deployment_.StartServer({"--poll_seconds=0.05"}));
    ASSERT_OK(deployment_.StartSidecar({JoinWindow(2), "--delete_spool"}));
    ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
    Models({"pin", "1"});
  }

  std::string Run(std::vector<std::string> words) {
    words[0] = BinaryPath(words[0]);
    const auto run = RunToEnd(words);
    EXPECT_OK(run);
    if (!run.ok()) return "";
    EXPECT_EQ(run->exit_code, 0) << run->stdout_text << run->stderr_text;
    return run->stdout_text;
  }
  std::string Models(std::vector<std::string> words) {
    words.insert(words.begin(), {"sortition", "models"});
    words.push_back("--server=" + deployment_.address());
    if (words[2] != "describe") words.push_back("--reason=test");
    return Run(words);
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
};

TEST_F(InterleavingIntegrationTest,
       TwoVersionsAreComparedFromServingToVerdict) {
  EXPECT_THAT(Models({"interleave", "2=100%", "--method=PROBABILISTIC"}),
              HasSubstr("interleaved with 2 for 100 % (PROBABILISTIC)"));
  EXPECT_THAT(Models({"describe"}), HasSubstr("interleaved 10000"));
  for (int i = 0; i < kDecisions; ++i) {
    v1::RankRequest request;
    *request.mutable_context() =
        MakeContext(6, kInterleavedFeatures, static_cast<uint32_t>(i));
    request.mutable_context()->set_decision_id(absl::StrCat("d", i));
    request.mutable_context()->set_unit_id(absl::StrCat("u", i / 2));
    request.set_top_k(5);
    ASSERT_OK_AND_ASSIGN(const v1::RankResponse response,
                         client_->Rank(request));
    EXPECT_EQ(response.result().model().version(), 1u);
    EXPECT_EQ(response.result().interleaved_version(), 2u);
    v1::ReportFeedbackRequest feedback;
    v1::Feedback& click = *feedback.add_feedback();
    click.set_feedback_id(absl::StrCat("f", i));
    click.set_decision_id(absl::StrCat("d", i));
    click.set_reward(1);
    click.set_rank(static_cast<uint32_t>(i % 5));
    ASSERT_OK(client_->ReportFeedback(feedback));
  }
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto ids = TupleIds(deployment_.tuples());
    return ids.ok() && ids->size() >= kDecisions;
  }));
  const auto metrics = deployment_.ServerMetrics();
  ASSERT_OK(metrics);
  EXPECT_EQ(MetricSum(*metrics, "sortition_interleaved_total"), kDecisions);
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);

  const std::string tuples = deployment_.tuples();
  const std::string store = "--model_store=" + deployment_.models();
  EXPECT_THAT(Run({"sortition", "log", "verify", tuples, store}),
              AllOf(HasSubstr(absl::StrCat(kDecisions, " decisions verified")),
                    HasSubstr(" 0 different, 0 corrupt")));
  EXPECT_THAT(Run({"sortition", "log", "validate", tuples, store}),
              HasSubstr("decisions recomputed bit for bit"));
  EXPECT_THAT(Run({"sortition-trainer", "ope", "--tuples=" + tuples, store,
                   "--policies=version:2"}),
              AllOf(HasSubstr("120 whose order two versions made together"),
                    HasSubstr("version 2"), HasSubstr("PROBABILISTIC")));
}

TEST_F(InterleavingIntegrationTest, WhatCannotBeInterleavedIsRefused) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"1=10%", "serves already"},
                                             {"9=10%", "no such version"}}) {
    const auto run =
        RunToEnd({BinaryPath("sortition"), "models", "interleave", words[0],
                  "--reason=test", "--server=" + deployment_.address()});
    ASSERT_OK(run);
    EXPECT_EQ(run->exit_code, 1);
    EXPECT_THAT(run->stderr_text, HasSubstr(words[1]));
  }
}

}  // namespace
}  // namespace sortition
