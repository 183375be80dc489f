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
  // So long does a look not take that finds something.
  constexpr int64_t kIdleNanos = 50'000;
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
    if (may_block) {
      const int64_t now = MonotonicNanos();
      if (now - *start > kIdleNanos) waiting.NoteIdle(now);
      *start = now;
    }
    static_cast<CompletionEvent*>(tag)->Proceed(ok);
  }
  return true;
}

void CallQueue::Close() {
  close_alarm_.Set(queue.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), &close_);
}

void CallQueue::OnClose(bool) {
  stale_alarm_.Cancel();
  const std::lock_guard lock(mutex);
  closed = true;
  queue->Shutdown();
}

void CallQueue::Hurry(double seconds) {
  hurry_seconds_ = seconds;
  returned.Add(&hurry_);
}

void CallQueue::OnHurry(bool) {
  unsent.Hurry(hurry_seconds_);
  if (waits_for_stale_) stale_alarm_.Cancel();  // Comes at once.
}

bool CallQueue::TakesTurns() {
  if (!took_turn_.exchange(false)) return false;
  returned.Add(&turn_);
  return true;
}

void CallQueue::AddUnsent(UnsentAnswer* answer, int64_t now) {
  unsent.Add(answer, now);
  if (!waits_for_stale_) WaitForStale();
}

void CallQueue::WaitForStale() {
  if (unsent.empty() || closed) return;
  waits_for_stale_ = true;
  // A moment later, so that the clock of gRPC cannot come too early.
  constexpr int64_t kSlackNanos = 2'000'000;
  const int64_t wait =
      std::max<int64_t>(unsent.NextStale() - MonotonicNanos(), 0) + kSlackNanos;
  stale_alarm_.Set(queue.get(),
                   gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                gpr_time_from_nanos(wait, GPR_TIMESPAN)),
                   &stale_);
}

void CallQueue::OnStale(bool) {
  waits_for_stale_ = false;
  unsent.DropStale(MonotonicNanos());
  WaitForStale();
}

}  // namespace sortition
