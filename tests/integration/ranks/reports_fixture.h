#pragma once
// One server and one sidecar, for reports about ranks that arrive in every
// order.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/rpc/client.h"
#include "gtest/gtest.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/ranks/rank_checks.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

class ReportsFixture : public testing::Test {
 protected:
  static constexpr uint32_t kFeatures = 4;
  static constexpr uint32_t kRanks = 6;

  // Starts both programs. Feedback counts for `window_seconds`.
  void Start(double window_seconds,
             const std::vector<std::string>& sidecar_flags = {}) {
    sidecar_flags_ = sidecar_flags;
    sidecar_flags_.push_back(JoinWindow(window_seconds));
    ASSERT_OK(
        deployment_.store().Publish(RankingModel(kFeatures, 0.5), nullptr, {}));
    ASSERT_OK(deployment_.StartServer());
    StartSidecar();
    ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
  }
  void KillSidecar() {
    deployment_.sidecar().Kill();
    StartSidecar();
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

  void ReportShown(const std::string& id, uint32_t first_rank,
                   const std::vector<uint32_t>& shown,
                   std::optional<uint32_t> seen_ranks = std::nullopt) {
    v1::ReportShownRequest request;
    request.set_decision_id(id);
    request.set_first_rank(first_rank);
    request.mutable_shown()->Add(shown.begin(), shown.end());
    request.set_not_shown(shown.empty() && !seen_ranks.has_value());
    if (seen_ranks.has_value()) request.set_seen_ranks(*seen_ranks);
    EXPECT_OK(client_->ReportShown(request));
  }
  // Reports the ranks [first, end) of an order.
  void ReportPage(const std::string& id, const std::vector<uint32_t>& order,
                  uint32_t first, uint32_t end) {
    ReportShown(id, first, {order.begin() + first, order.begin() + end});
  }

  // Without a feedback id the client makes one.
  static v1::Feedback RankFeedback(const std::string& decision_id,
                                   uint32_t rank, double reward,
                                   const std::string& feedback_id = "") {
    v1::Feedback feedback;
    feedback.set_feedback_id(feedback_id);
    feedback.set_decision_id(decision_id);
    feedback.set_rank(rank);
    feedback.set_reward(reward);
    return feedback;
  }
  absl::Status Report(const std::vector<v1::Feedback>& feedback) {
    v1::ReportFeedbackRequest request;
    request.mutable_feedback()->Add(feedback.begin(), feedback.end());
    return client_->ReportFeedback(request).status();
  }
  void ReportRank(const std::string& id, uint32_t rank, double reward,
                  const std::string& feedback_id = "") {
    EXPECT_OK(Report({RankFeedback(id, rank, reward, feedback_id)}));
  }

  // The sum over all label sets of a metric of the sidecar.
  double Count(const std::string& name) const {
    const auto text = deployment_.SidecarMetrics();
    EXPECT_OK(text);
    return text.ok() ? MetricSum(*text, "sortition_join_" + name) : -1;
  }
  // Waits until the metric has this value.
  void ExpectCount(const std::string& name, double expected) const {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return Count(name) >= expected;
    })) << name;
    EXPECT_EQ(Count(name), expected) << name;
  }

  // Waits for `count` tuples, ends both programs and returns the tuples.
  std::vector<log::v1::BanditTuple> Finish(size_t count) {
    WaitForTuples(deployment_.tuples(), count);
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
  // After Finish().
  std::vector<log::v1::LateFeedback> Late() const {
    std::vector<log::v1::LateFeedback> late;
    const std::string dir = deployment_.tuples() + "/late";
    if (!std::filesystem::exists(dir)) return late;
    EXPECT_OK(VisitRecords(dir, /*closed=*/true,
                           [&](const log::v1::LogRecord& record) {
                             if (!record.has_late()) return;
                             late.push_back(record.late());
                           }));
    return late;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;

 private:
  void StartSidecar() { ASSERT_OK(deployment_.StartSidecar(sidecar_flags_)); }

  std::vector<std::string> sidecar_flags_;
};

}  // namespace sortition
