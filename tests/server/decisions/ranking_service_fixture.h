#pragma once
// A RankingService with its own store and spool.
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "server/decisions/ranking_service.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

// Serves "pick" (selection, can abstain) and "order" (ranking), two features
// each, and "default" without a version.
class RankingServiceTest : public testing::Test {
 protected:
  RankingServiceTest() {
    options_.set_model_store(directory_ / "models");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    options_.mutable_spool()->set_segment_bytes(65536);
    options_.mutable_limits()->set_max_candidates(5);
    options_.mutable_limits()->set_max_features(10);
    options_.mutable_limits()->set_max_feedback_batch(3);
    auto pick = MakeSelectModel("pick", {1, 2});
    pick.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
    Publish(options_.model_store(), pick);
    Publish(options_.model_store(), MakeRankModel("order", {1, 2}));
    auto boltzmann = MakeRankModel("boltzmann", {1, 2});
    boltzmann.mutable_policy()->mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::LINEAR);
    Publish(options_.model_store(), boltzmann);
  }

  void SetUp() override {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_.spool(), ""));
    service_ = std::make_unique<RankingService>(
        options_.limits(), registry_.get(), spool_.get(), &metrics_);
  }

  // Three candidates with scores 1, 2 and 3 under weights (1, 2).
  static v1::SelectRequest GoodSelect() {
    v1::SelectRequest request;
    request.mutable_context()->set_model("pick");
    request.mutable_context()->set_decision_id("d-1");
    SetDense(2, {1, 0, 0, 1, 1, 1}, request.mutable_context());
    return request;
  }
  static v1::RankRequest GoodRank() {
    v1::RankRequest request;
    *request.mutable_context() = GoodSelect().context();
    request.mutable_context()->set_model("order");
    return request;
  }

  std::vector<log::v1::LogRecord> Logged() {
    EXPECT_OK(spool_->Close());
    return ReadSpool(options_.spool().dir());
  }

  absl::Status Select(const v1::SelectRequest& request) {
    return service_->Select(request, &scratch_, &select_);
  }
  absl::Status Rank(const v1::RankRequest& request) {
    return service_->Rank(request, &scratch_, &rank_);
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<RankingService> service_;
  DecisionScratch scratch_;
  v1::SelectResponse select_;
  v1::RankResponse rank_;
};

}  // namespace sortition
