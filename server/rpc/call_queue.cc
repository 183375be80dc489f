#include "server/rpc/call_queue.h"

#include <grpc/support/time.h>

namespace sortition {

void SyncedCalls::Add(CompletionEvent* call) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  calls_.push_back(call);
  // The alarm is under way as long as there are calls.
  if (calls_.size() > 1) return;
  alarm_.Set(queue_->queue.get(), gpr_now(GPR_CLOCK_MONOTONIC), this);
}

void SyncedCalls::Proceed(bool) {
  std::vector<CompletionEvent*> calls;
  {
    const std::lock_guard lock(queue_->mutex);
    calls.swap(calls_);
  }
  for (CompletionEvent* call : calls) call->Proceed(true);
}

}  // namespace sortition
