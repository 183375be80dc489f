#pragma once
// One Watch call of grpc.health.v1 on a completion queue.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/connections/connection_table.h"
#include "server/rpc/health_service.h"

namespace sortition {

// Owns itself: waits for a call, starts the next waiting object when the call
// comes, and deletes itself when the call is over. gRPC allows that when no
// operation is in progress and the event that the call is done was handed out.
class HealthWatchCall final : public HealthWatcher {
 public:
  using Stub = grpc::health::v1::Health::WithRawMethod_Check<
      grpc::health::v1::Health::WithRawMethod_Watch<
          grpc::health::v1::Health::Service>>;

  // All must outlive the queue's thread.
  static void Start(Stub* stub, HealthService* health, CallQueue* queue);

  void Send(HealthStatus status) override;
  void Finish() override;

 private:
  HealthWatchCall(Stub* stub, HealthService* health, CallQueue* queue);
  ~HealthWatchCall() override = default;

  // Event handlers; all run in the queue's thread.
  void OnStarted(bool ok);
  void OnOperation(bool ok);
  void OnDone(bool ok);

  // Begins to watch what the request names. Frees the request, which may be as
  // large as any, and of which anyone may send many.
  absl::Status Watch();
  // Starts the next operation if none is in progress.
  void Advance();  // Requires `mutex_`.
  void DeleteIfDone();

  Stub* const stub_;
  HealthService* const health_;
  CallQueue* const queue_;
  MemberEvent<HealthWatchCall> started_{this, &HealthWatchCall::OnStarted};
  MemberEvent<HealthWatchCall> operation_ended_{this,
                                                &HealthWatchCall::OnOperation};
  MemberEvent<HealthWatchCall> done_event_{this, &HealthWatchCall::OnDone};
  grpc::ServerContext context_;
  grpc::ByteBuffer payload_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_;
  std::optional<CallMark> mark_;

  std::mutex mutex_;
  HealthStatus wanted_ = grpc::health::v1::HealthCheckResponse::UNKNOWN;
  HealthStatus sent_ = grpc::health::v1::HealthCheckResponse::UNKNOWN;
  std::optional<grpc::Status> end_;  // The status to finish with.
  bool operation_ = false;           // A write or the finish is in progress.
  bool over_ = false;                // Nothing can be sent any more.
  bool done_ = false;
};

}  // namespace sortition
