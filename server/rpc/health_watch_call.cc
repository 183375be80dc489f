#include "server/rpc/health_watch_call.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_cat.h"
#include "server/rpc/status_conversion.h"

namespace sortition {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

grpc::ByteBuffer BytesOf(const HealthCheckResponse& response) {
  const grpc::Slice slice(response.SerializeAsString());
  return {&slice, 1};
}

}  // namespace

HealthWatchCall::HealthWatchCall(Stub* stub, HealthService* health,
                                 CallQueue* queue)
    : stub_(stub), health_(health), queue_(queue), writer_(&context_) {}

void HealthWatchCall::Start(Stub* stub, HealthService* health,
                            CallQueue* queue) {
  std::lock_guard lock(queue->mutex);
  if (queue->closed) return;
  auto* call = new HealthWatchCall(stub, health, queue);
  call->context_.AsyncNotifyWhenDone(&call->done_event_);
  stub->RequestWatch(&call->context_, &call->payload_, &call->writer_,
                     queue->queue.get(), queue->queue.get(), &call->started_);
}

void HealthWatchCall::OnStarted(bool ok) {
  if (!ok) {  // Shut down before a call came; there is no done event.
    delete this;
    return;
  }
  Start(stub_, health_, queue_);
  const absl::Status status = Watch();
  if (status.ok()) {
    mark_.emplace(queue_->connections, context_.peer());
    return;
  }
  std::lock_guard lock(mutex_);
  end_ = ToGrpcStatus(status);
  Advance();
}

absl::Status HealthWatchCall::Watch() {
  HealthCheckRequest request;
  const size_t size = payload_.Length();
  if (size > kMaxHealthRequestBytes) {
    payload_.Clear();
    return absl::InvalidArgumentError(absl::StrCat("request has ", size,
                                                   " bytes: must have at most ",
                                                   kMaxHealthRequestBytes));
  }
  grpc::ProtoBufferReader reader(&payload_);
  const bool is_read =
      reader.status().ok() && request.ParseFromZeroCopyStream(&reader);
  payload_.Clear();
  if (!is_read) {
    return absl::InvalidArgumentError(
        "request is not a readable grpc.health.v1.HealthCheckRequest (the "
        "service must be UTF-8)");
  }
  return health_->Watch(request.service(), context_.peer(), this);
}

void HealthWatchCall::OnOperation(bool ok) {
  {
    std::lock_guard lock(mutex_);
    operation_ = false;
    if (!ok) over_ = true;
    Advance();
  }
  DeleteIfDone();
}

void HealthWatchCall::OnDone(bool) {
  // From here on only this thread refers to the call.
  health_->Unwatch(this);
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    over_ = true;
  }
  DeleteIfDone();
}

void HealthWatchCall::Send(HealthStatus status) {
  std::lock_guard lock(mutex_);
  wanted_ = status;
  Advance();
}

void HealthWatchCall::Finish() {
  std::lock_guard lock(mutex_);
  end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "server is draining");
  Advance();
}

void HealthWatchCall::Advance() {
  if (operation_ || over_) return;
  std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  if (sent_ != wanted_) {
    HealthCheckResponse response;
    response.set_status(wanted_);
    sent_ = wanted_;
    operation_ = true;
    writer_.Write(BytesOf(response), &operation_ended_);
  } else if (end_.has_value()) {
    operation_ = true;
    over_ = true;
    writer_.Finish(*end_, &operation_ended_);
  }
}

void HealthWatchCall::DeleteIfDone() {
  bool gone = false;
  {
    std::lock_guard lock(mutex_);
    gone = done_ && !operation_;
  }
  if (gone) delete this;
}

}  // namespace sortition
