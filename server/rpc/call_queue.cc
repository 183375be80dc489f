#include "server/rpc/call_queue.h"

#include <grpc/support/time.h>

#include <algorithm>

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

void ModelsForgetting::Proceed(bool) { queue_->scratch.models = SeenModels(); }

void CallQueue::Serve() {
  int64_t start = 0;
  while (Read(&start)) waiting.Serve(start);
}

bool CallQueue::Read(int64_t* start) {
  // Events without an end must not keep calls waiting.
  constexpr int kMostEvents = 1024;
  const gpr_timespec past = gpr_time_0(GPR_CLOCK_MONOTONIC);
  const gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  // A look may read a part of a call, and nothing is handed out: after a long
  // turn several looks are made, at a few microseconds each.
  constexpr int64_t kNanosPerLook = 100'000;
  constexpr int64_t kMostLooks = 16;
  int64_t looks =
      1 + std::min(waiting.turn_nanos() / kNanosPerLook, kMostLooks);
  *start = MonotonicNanos();
  if (!waiting.MayRead()) return true;
  for (int i = 0; i < kMostEvents; ++i) {
    void* tag = nullptr;
    bool ok = false;
    const bool may_block = waiting.empty() && i == 0;
    switch (queue->AsyncNext(&tag, &ok, may_block ? never : past)) {
      case grpc::CompletionQueue::SHUTDOWN:
        return false;
      case grpc::CompletionQueue::TIMEOUT:
        if (--looks > 0) continue;
        waiting.NoteAllRead();
        return true;
      case grpc::CompletionQueue::GOT_EVENT:
        break;
    }
    if (may_block) *start = MonotonicNanos();
    static_cast<CompletionEvent*>(tag)->Proceed(ok);
  }
  return true;
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
