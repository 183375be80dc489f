#pragma once
// The client library: connections to a sortition-server, or to several.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/rpc/credentials.h"
#include "client/rpc/server_choice.h"
#include "core/base/random.h"
#include "sortition/v1/models.pb.h"
#include "sortition/v1/ranking.pb.h"

// gRPC's headers take seconds to compile; those who call do not need them.
namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace sortition {

struct CallOptions {
  double deadline_seconds = 5;  // For a call and its retries; > 0.
  // Attempts of a call at each address, at least 1; unset: 3 with one address,
  // 10 with several.
  std::optional<uint32_t> max_attempts = std::nullopt;
  double first_backoff_seconds = 0.1;  // Doubles with every retry; >= 0.
  double max_backoff_seconds = 2;
  // Retries that a client with several addresses may make after each address of
  // a call has failed once. A retry takes one, ten answers give one back.
  uint32_t retry_budget = 500;
  // The spools of all servers are joined together, so that reports, too, may go
  // to another server if the one of their decision is away.
  bool any_server = false;
  SecurityOptions security = {};
};

// Thread-safe. Calls block until the answer, an error or the deadline.
//
// A call is retried only if the server is away: UNAVAILABLE, or CANCELLED by a
// server that closes its port. With several addresses, an attempt also ends
// when it has taken half of the time that is left, and an overloaded server is
// tried again when it asks to be.
//
// With one address, a retry follows after a random share of a back-off that
// grows exponentially. With several, the id of a decision chooses the server
// that is asked first. If it is away, the decision goes to the next server with
// the same id, without a pause; after all of them, as with one address.
//
// The draw of a decision is a function of its id and the model's version, so
// that a repetition gives the same answer; a request without an id gets a UUID
// here before the first attempt. If the answer of one server was lost and
// another one decided again, the spools of both have the decision. One join of
// both spools makes one tuple of it, or none if the versions differ. Two joins
// make two tuples (docs/join.md).
//
// Reports go to the server of their decision and wait for it: only a join of
// its spool knows the decision. With `any_server` they fail over, too. Feedback
// counts once per feedback id.
//
// An address can stand for several servers, too; then the retries of a call go
// to the server that its first attempt reached, and fail with it, unless
// `any_server` is set.
class Client {
 public:
  ~Client();

  // Returns a client that connects at its first call. `address` is that of a
  // server, or of several, separated by commas; gRPC's own lists ("ipv4:a,b")
  // are one address. InvalidArgument where an address is empty or an option is
  // out of its range, or a file of `security` is wrong. Every Client has
  // connections of its own.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      const std::string& address, const CallOptions& options = {});

  // Status codes are the server's (proto/sortition/v1/ranking.proto), or
  // Unavailable, Cancelled and DeadlineExceeded of the connection.
  absl::StatusOr<v1::RankResponse> Rank(v1::RankRequest request);
  absl::StatusOr<v1::SelectResponse> Select(v1::SelectRequest request);
  absl::StatusOr<v1::LabelResponse> Label(v1::LabelRequest request);
  absl::StatusOr<v1::AggregateResponse> Aggregate(v1::AggregateRequest request);
  // Decides many requests over one stream for each server, and returns their
  // answers in order; an answer may be the error of its request. Requests that
  // a server has not answered when it goes away are sent to the next one. The
  // deadline is for all; a stream may use all of it.
  absl::StatusOr<std::vector<v1::RankStreamResponse>> RankStream(
      std::vector<v1::RankStreamRequest> requests);
  absl::StatusOr<v1::ReportShownResponse> ReportShown(
      const v1::ReportShownRequest& request);
  // Items without a feedback id get a UUID. Items of several servers are
  // separate calls; after an error some may have been accepted.
  absl::StatusOr<v1::ReportFeedbackResponse> ReportFeedback(
      v1::ReportFeedbackRequest request);
  // Of several servers, the first answers the calls of the control plane.
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  absl::StatusOr<v1::DescribeModelResponse> DescribeModel(
      const v1::DescribeModelRequest& request);
  absl::StatusOr<v1::ChangeServingResponse> ChangeServing(
      const v1::ChangeServingRequest& request);
  absl::Status ReloadModels();

  const std::string& address() const { return address_; }

 private:
  Client(const std::string& address, const CallOptions& options,
         Credentials credentials);

  struct Stubs;

  // Returns the index of the address.
  size_t IndexOf(const Stubs& stubs) const;
  // Fills in the id, if there is none.
  void FillDecisionId(v1::DecisionContext* context) const;
  // Returns the servers that may take reports about a decision.
  std::vector<size_t> ReportRoute(absl::string_view decision_id) const;
  // Sends one call, `send`(stubs, context, response), with retries.
  template <typename Response, typename Send>
  absl::StatusOr<Response> Call(std::vector<size_t> route, const Send& send);
  // The same for a decision, whose id is set.
  template <typename Response, typename Send>
  absl::StatusOr<Response> Decide(const std::string& decision_id,
                                  const Send& send);
  // Sets `*server` to the server that answered.
  absl::Status CallWithRetries(
      std::vector<size_t> route, bool shares_time,
      const std::function<grpc::Status(const Stubs&, grpc::ClientContext*)>&
          call,
      size_t* server);
  // Waits; returns false where no time is left for another attempt.
  static bool Pause(const Stubs& stubs,
                    std::chrono::steady_clock::duration pause,
                    std::chrono::steady_clock::time_point deadline);

  const std::string address_;
  const CallOptions options_;
  const Credentials credentials_;
  ServerChoice choice_;
  std::vector<std::unique_ptr<Stubs>> servers_;  // By address.
  const CounterRandom jitter_;
  std::atomic<uint32_t> next_jitter_{0};
};

// Converts the status of a call; the only place that does. Codes that gRPC does
// not define become Unknown.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace sortition
