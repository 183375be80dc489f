#pragma once
// A server in this process that answers as a test tells it to.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {

// Selects candidate 0, ranks in the order of the request, and chooses the first
// k candidates (all if k is not set, none with `abstain`). The first
// `fail_first` calls fail with `failure`.
class FakeServer : public v1::Ranking::Service, public v1::Models::Service {
 public:
  FakeServer() {
    v1::ModelStatus* model = listed.add_models();
    model->set_name("default");
    model->set_version(3);
    model->set_policy("softmax_selection");
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(static_cast<v1::Ranking::Service*>(this));
    builder.RegisterService(static_cast<v1::Models::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() override { Stop(); }

  // Ends what is under way, and takes no more connections.
  void Stop() { server_->Shutdown(); }

  // The same without waiting for what hangs: clients lose their connections.
  void Kill() { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status Rank(grpc::ServerContext* context,
                    const v1::RankRequest* request,
                    v1::RankResponse* response) override {
    grpc::Status status =
        Begin(context, request->context(), response->mutable_result());
    const v1::Candidates& candidates = request->context().candidates();
    const int n = candidates.dense().values_size() /
                  static_cast<int>(candidates.num_features());
    const int k = request->has_top_k() ? static_cast<int>(request->top_k()) : n;
    for (int i = 0; i < k; ++i) {
      response->add_order(i);
      response->add_conditional_log_propensities(-0.5);
    }
    return status;
  }

  grpc::Status Select(grpc::ServerContext* context,
                      const v1::SelectRequest* request,
                      v1::SelectResponse* response) override {
    grpc::Status status =
        Begin(context, request->context(), response->mutable_result());
    if (!abstain) response->set_selected(0);
    return status;
  }

  grpc::Status Label(grpc::ServerContext* context,
                     const v1::LabelRequest* request,
                     v1::LabelResponse* response) override {
    v1::DecisionResult* result = response->mutable_result();
    grpc::Status status = Begin(context, request->context(), result);
    const v1::Candidates& candidates = request->context().candidates();
    const auto n = static_cast<uint32_t>(candidates.dense().values_size()) /
                   candidates.num_features();
    const uint32_t k = abstain ? 0 : request->has_k() ? request->k() : n;
    for (uint32_t i = 0; i < k; ++i) response->add_chosen(i);
    for (uint32_t i = 0; i < n && request->context().return_probabilities();
         ++i) {
      result->add_probabilities(0.75);
    }
    if (request->context().return_game()) {
      result->mutable_game()->set_lower(0.25);
      result->mutable_game()->set_upper(0.5);
      result->mutable_game()->set_rounds(3);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_.push_back(request->k());
    return status;
  }

  // Ends where a request fails, as a server that drains.
  grpc::Status RankStream(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::RankStreamResponse, v1::RankStreamRequest>*
          stream) override {
    v1::RankStreamRequest request;
    while (stream->Read(&request)) {
      v1::RankStreamResponse answer;
      grpc::Status status;
      if (request.has_rank()) {
        status = Rank(context, &request.rank(), answer.mutable_rank());
      } else if (request.has_select()) {
        status = Select(context, &request.select(), answer.mutable_select());
      } else if (request.has_label()) {
        status = Label(context, &request.label(), answer.mutable_label());
      } else {
        answer.mutable_error()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
      }
      if (!status.ok()) return status;
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  grpc::Status Aggregate(grpc::ServerContext* context,
                         const v1::AggregateRequest* request,
                         v1::AggregateResponse* response) override {
    grpc::Status status =
        Begin(context, request->context(), response->mutable_result());
    const v1::Candidates& candidates = request->context().candidates();
    const auto sources = candidates.num_features();
    const auto n =
        static_cast<uint32_t>(candidates.dense().values_size()) / sources;
    for (uint32_t i = 0; i < n; ++i) {
      response->add_order(n - 1 - i);
      response->add_conditional_log_propensities(0);
    }
    for (uint32_t s = 0; s < sources; ++s) response->add_divergences(0.125 * s);
    response->add_pairs()->set_support(0.875);
    const std::lock_guard<std::mutex> lock(mutex_);
    aggregates_.push_back(*request);
    return status;
  }

  grpc::Status ReportShown(grpc::ServerContext*,
                           const v1::ReportShownRequest* request,
                           v1::ReportShownResponse*) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    shown_.push_back(*request);
    return NextStatus();
  }

  grpc::Status ReportFeedback(grpc::ServerContext*,
                              const v1::ReportFeedbackRequest* request,
                              v1::ReportFeedbackResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    feedback_.insert(feedback_.end(), request->feedback().begin(),
                     request->feedback().end());
    response->set_accepted(request->feedback_size());
    return NextStatus();
  }

  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    *response = listed;
    return grpc::Status::OK;
  }

  grpc::Status DescribeModel(grpc::ServerContext*,
                             const v1::DescribeModelRequest*,
                             v1::DescribeModelResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    *response = description;
    return grpc::Status::OK;
  }

  grpc::Status ChangeServing(grpc::ServerContext*,
                             const v1::ChangeServingRequest* request,
                             v1::ChangeServingResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    changes_.push_back(*request);
    *response = changed;
    return NextStatus();
  }

  grpc::Status ReloadModels(grpc::ServerContext*,
                            const v1::ReloadModelsRequest*,
                            v1::ReloadModelsResponse*) override {
    ++num_reloads;
    return grpc::Status::OK;
  }

  std::vector<v1::ChangeServingRequest> changes() const {
    return Copy(changes_);
  }
  std::vector<v1::DecisionContext> decisions() const {
    return Copy(decisions_);
  }
  // Returns LabelRequest.k of each request, 0 if unset.
  std::vector<uint32_t> sizes() const { return Copy(sizes_); }
  std::vector<v1::AggregateRequest> aggregates() const {
    return Copy(aggregates_);
  }
  std::vector<v1::ReportShownRequest> shown() const { return Copy(shown_); }
  std::vector<v1::Feedback> feedback() const { return Copy(feedback_); }
  std::set<std::string> peers() const { return Copy(peers_); }

  // Set these before the calls that they are about.
  std::atomic<int> fail_first{0};
  std::atomic<uint64_t> fail_at{0};  // This decision fails, counted from 1.
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "draining"};
  std::atomic<bool> abstain{false};
  std::atomic<bool> hang{false};    // Answer only when the call is cancelled.
  std::atomic<int> hanging{0};      // Calls that came while `hang` was set.
  std::atomic<int> pushback_ms{0};  // Hint of decisions; 0: none.
  v1::ListModelsResponse listed;
  v1::DescribeModelResponse description;
  v1::ChangeServingResponse changed;
  std::atomic<int> num_reloads{0};
  std::atomic<uint64_t> new_version_at{0};  // Version 2 from this decision on.

 private:
  template <typename T>
  T Copy(const T& values) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values;
  }

  grpc::Status NextStatus() {
    return fail_first-- > 0 ? failure : grpc::Status::OK;
  }

  grpc::Status Begin(grpc::ServerContext* context,
                     const v1::DecisionContext& request,
                     v1::DecisionResult* result) {
    if (hang) ++hanging;
    while (hang && !context->IsCancelled()) {
      std::this_thread::yield();
    }
    if (pushback_ms > 0) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms",
                                   absl::StrCat(pushback_ms.load()));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    decisions_.push_back(request);
    peers_.insert(context->peer());
    result->set_decision_id(request.decision_id());
    result->mutable_model()->set_name("default");
    const bool later =
        new_version_at > 0 && decisions_.size() >= new_version_at;
    result->mutable_model()->set_version(later ? 2 : 1);
    result->set_log_propensity(-0.5);
    return decisions_.size() == fail_at ? failure : NextStatus();
  }

  mutable std::mutex mutex_;
  std::vector<v1::DecisionContext> decisions_;
  std::vector<v1::ChangeServingRequest> changes_;
  std::vector<uint32_t> sizes_;
  std::vector<v1::AggregateRequest> aggregates_;
  std::vector<v1::ReportShownRequest> shown_;
  std::vector<v1::Feedback> feedback_;
  std::set<std::string> peers_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sortition
