#pragma once
// The client library: connections to a sortition-server, or to several.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/rpc/credentials.h"
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
  double deadline_seconds = 5;         // For a call and its retries; > 0.
  uint32_t max_attempts = 3;           // At least 1.
  double first_backoff_seconds = 0.1;  // Doubles with every retry; >= 0.
  double max_backoff_seconds = 2;
  SecurityOptions security = {};
};

// Thread-safe. Calls block until the answer, an error or the deadline.
//
// A call is retried only where the server is away (UNAVAILABLE, or CANCELLED by
// a server that closes its port), after a random share of a back-off that grows
// exponentially. That is safe for every call.
// The draw of a decision is a function of its id and the model's version, so
// that a repetition gives the same answer; a request without an id gets a UUID
// here before the first attempt. Where another version serves by then, and the
// first answer was logged, the join leaves the decision out (docs/join.md).
// Feedback counts once per feedback id, and the other calls change nothing
// twice.
//
// All of that holds within the spool of one server. With several servers, all
// calls about a decision go to the one that its id chooses. A server that is
// added or removed takes over, or leaves, only its own share of the ids.
//
// An address can stand for several servers, too; then the retries of a call go
// to the server that its first attempt reached, and fail with it. The next call
// may reach another one. To repeat a decision there is up to the caller: it can
// make a second tuple, unless the first server said that it was draining.
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
  // answers in order; an answer may be the error of its request. What a server
  // has not answered when it drains is asked again. The deadline is for all.
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

  // Returns the server of a decision.
  const Stubs& ServerOf(absl::string_view decision_id) const;
  // Sends one call, `send`(stubs, context, response), with retries.
  template <typename Response, typename Send>
  absl::StatusOr<Response> Call(const Stubs& server, const Send& send);
  absl::Status CallWithRetries(
      const Stubs& server,
      const std::function<grpc::Status(const Stubs&, grpc::ClientContext*)>&
          call);
  // Waits; returns false where no time is left for another attempt.
  static bool Pause(const Stubs& stubs,
                    std::chrono::steady_clock::duration pause,
                    std::chrono::steady_clock::time_point deadline);

  const std::string address_;
  const CallOptions options_;
  const Credentials credentials_;
  std::vector<std::unique_ptr<Stubs>> servers_;
  const CounterRandom jitter_;
  std::atomic<uint32_t> next_jitter_{0};
};

// Converts the status of a call; the only place that does. Codes that gRPC does
// not define become Unknown.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace sortition
