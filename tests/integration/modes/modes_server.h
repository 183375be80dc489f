#pragma once
// A service in this process that logs decisions of one model, whose versions
// and what serves of them a test chooses. The same in every run: draws, arms
// and ids come from fixed salts and the ids of the requests.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/logs/log_verify.h"
#include "gtest/gtest.h"
#include "server/decisions/ranking_service.h"
#include "server/models/baseline_agreement.h"
#include "server/shadows/shadow_scorer.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class ModesServer {
 public:
  ModesServer() {
    options_.set_model_store(directory_ / "models");
    options_.mutable_spool()->set_segment_bytes(1 << 20);
    options_.mutable_spool()->set_sync_interval_seconds(3600);
  }

  // Publishes them as versions 1, 2, ..., and starts.
  void Start(const std::vector<model::v1::Model>& versions) {
    for (const model::v1::Model& model : versions) {
      Publish(options_.model_store(), model);
      options_.set_default_model(model.name());
    }
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
  }

  absl::Status Serve(const std::function<void(model::v1::Serving*)>& edit) {
    return registry_
        ->Change(options_.default_model(), {"test", ""},
                 [&](const EditContext&, model::v1::Serving* serving) {
                   *serving = model::v1::Serving();
                   serving->mutable_split()->set_salt(
                       "00112233445566778899aabbccddeeff");
                   edit(serving);
                   return absl::OkStatus();
                 })
        .status();
  }

  // From here on decisions go to a spool of their own.
  void OpenSpool() {
    CloseSpool();
    options_.mutable_spool()->set_dir(directory_ /
                                      absl::StrCat("spool", num_spools_++));
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_.spool(), ""));
    shadows_ = std::make_unique<ShadowScorer>(kQueueBytes, spool_.get(),
                                              &metrics_, &agreement_);
    service_ = std::make_unique<RankingService>(
        options_.limits(), registry_.get(), spool_.get(), &metrics_,
        shadows_.get(), &agreement_);
  }
  // Shadows finish first.
  void CloseSpool() {
    if (shadows_ != nullptr) shadows_->Stop(kPatienceSeconds);
    if (spool_ != nullptr) {
      EXPECT_OK(spool_->Close());
    }
    service_.reset();
    shadows_.reset();
    spool_.reset();
  }
  const std::string& spool_dir() const { return options_.spool().dir(); }

  absl::Status Select(const v1::DecisionContext& context) {
    v1::SelectRequest request;
    *request.mutable_context() = context;
    return service_->Select(request, &scratch_, &select_);
  }
  // The candidate of the last selection, which did not abstain.
  int32_t selected() const { return static_cast<int32_t>(select_.selected()); }
  absl::Status Rank(const v1::DecisionContext& context, uint32_t top_k) {
    v1::RankRequest request;
    *request.mutable_context() = context;
    if (top_k > 0) request.set_top_k(top_k);
    return service_->Rank(request, &scratch_, &rank_);
  }
  absl::Status Label(const v1::DecisionContext& context, uint32_t k) {
    v1::LabelRequest request;
    *request.mutable_context() = context;
    if (k > 0) request.set_k(k);
    return service_->Label(request, &scratch_, &label_);
  }

  // Repeats the decisions of the spool, as `sortition log verify`.
  VerifyResult Verify() {
    DecisionVerifier verifier{ModelStore(options_.model_store())};
    const auto result = VerifyLog({spool_dir()}, &verifier);
    EXPECT_OK(result);
    return result.value_or(VerifyResult());
  }

  const std::string& store() const { return options_.model_store(); }
  std::string Sub(const std::string& name) const {
    return directory_.Sub(name);
  }

 private:
  // More than the decisions of any test.
  static constexpr uint64_t kQueueBytes = uint64_t{1} << 30;
  static constexpr double kPatienceSeconds = 600;

  TempDir directory_{FastParent()};
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<SpoolWriter> spool_;
  BaselineAgreement agreement_{&metrics_};
  std::unique_ptr<ShadowScorer> shadows_;
  std::unique_ptr<RankingService> service_;
  DecisionScratch scratch_;
  v1::SelectResponse select_;
  v1::RankResponse rank_;
  v1::LabelResponse label_;
  int num_spools_ = 0;
};

}  // namespace sortition
