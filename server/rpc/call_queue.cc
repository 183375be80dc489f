#include "server/rpc/call_queue.h"

#include <grpc/support/time.h>

namespace sortition {

void ReturnedCalls::Add(CompletionEvent* call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    if (calls_.size() > 1) return;
  }
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  // A time that has passed: others wait for the next tick of gRPC's timers.
  alarm_.Set(queue_->queue.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), this);
}

void ReturnedCalls::Proceed(bool) {
  std::vector<CompletionEvent*> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (CompletionEvent* call : calls) call->Proceed(true);
}

void QueueClosing::Start() {
  alarm_.Set(queue_->queue.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), this);
}

void QueueClosing::Proceed(bool) {
  const std::lock_guard lock(queue_->mutex);
  queue_->closed = true;
  queue_->queue->Shutdown();
}

}  // namespace sortition
