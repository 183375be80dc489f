#include "server/rpc/health_watch_call.h"

namespace sortition {

HealthWatchCall::HealthWatchCall(Stub* stub, HealthService* health,
                                 CallQueue* queue)
    : stub_(stub), health_(health), queue_(queue), writer_(&context_) {}

void HealthWatchCall::Start(Stub* stub, HealthService* health,
                            CallQueue* queue) {
  std::lock_guard lock(queue->mutex);
  if (queue->closed) return;
  auto* call = new HealthWatchCall(stub, health, queue);
  call->context_.AsyncNotifyWhenDone(&call->done_event_);
  stub->RequestWatch(&call->context_, &call->request_, &call->writer_,
                     queue->queue.get(), queue->queue.get(), &call->started_);
}

void HealthWatchCall::OnStarted(bool ok) {
  if (!ok) {  // Shut down before a call came; there is no done event.
    delete this;
    return;
  }
  Start(stub_, health_, queue_);
  mark_.emplace(queue_->connections, context_.peer());
  health_->Watch(request_.service(), this);
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
  finish_wanted_ = true;
  Advance();
}

void HealthWatchCall::Advance() {
  if (operation_ || over_) return;
  std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  if (sent_ != wanted_) {
    grpc::health::v1::HealthCheckResponse response;
    response.set_status(wanted_);
    sent_ = wanted_;
    operation_ = true;
    writer_.Write(response, &operation_ended_);
  } else if (finish_wanted_) {
    operation_ = true;
    over_ = true;
    writer_.Finish(
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "server is draining"),
        &operation_ended_);
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
