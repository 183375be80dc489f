#pragma once
// A completion queue with its thread, and how calls come back to it from other
// threads.
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "server/admission/waiting_calls.h"
#include "server/decisions/decision_scratch.h"

namespace sortition {

class ConnectionTable;

// What a completion queue hands out.
class CompletionEvent {
 public:
  virtual ~CompletionEvent() = default;
  virtual void Proceed(bool ok) = 0;
};

// An event that a function of its owner handles.
template <typename Owner>
class MemberEvent final : public CompletionEvent {
 public:
  using Handler = void (Owner::*)(bool ok);
  MemberEvent(Owner* owner, Handler handler)
      : owner_(owner), handler_(handler) {}
  void Proceed(bool ok) override { (owner_->*handler_)(ok); }

 private:
  Owner* const owner_;
  const Handler handler_;
};

class CallQueue;

// Calls whose records are on the disk, or that the pool has decided, on their
// way back to the thread of their queue: one alarm for all that come at once.
class ReturnedCalls final : public CompletionEvent {
 public:
  explicit ReturnedCalls(CallQueue* queue) : queue_(queue) {}

  // Thread-safe. Lets `call` proceed in the thread of the queue, unless that is
  // closed.
  void Add(CompletionEvent* call);
  void Proceed(bool ok) override;

 private:
  CallQueue* const queue_;
  grpc::Alarm alarm_;  // Is under way as long as there are calls.
  // Not that of the queue, which is held while an answer is sent: the spool
  // would wait for each of them.
  std::mutex mutex_;
  std::vector<CompletionEvent*> calls_;  // Guarded by `mutex_`.
};

// A completion queue with the memory of its one thread.
class CallQueue {
 public:
  // Both must outlive it.
  CallQueue(Admission* admission, ConnectionTable* its_connections)
      : connections(its_connections), waiting(admission), unsent(admission) {}

  // The loop of the thread; returns once the queue is shut down.
  void Serve();
  // Thread-safe. Shuts the queue down in its own thread, which can therefore
  // give it work without a lock.
  void Close();
  // Thread-safe. From now on answers that are not taken are dropped after
  // `seconds` at most. Call once.
  void Hurry(double seconds);
  // Thread-safe, but for one thread at a time. Returns whether the thread of
  // the queue has done what the call before asked of it, and asks again: one
  // that hangs is seen at the second call.
  bool TakesTurns();
  // For the thread of the queue: `answer` was given to gRPC at `now`. It is
  // dropped if it stays too long.
  void AddUnsent(UnsentAnswer* answer, int64_t now);

  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  ConnectionTable* const connections;
  DecisionScratch scratch;
  // Giving a queue work after its shutdown aborts. Its own thread looks at
  // `closed`, which only it writes; others do so under the lock.
  std::mutex mutex;
  bool closed = false;
  ReturnedCalls returned{this};
  // The rest belongs to the thread.
  WaitingCalls waiting;
  UnsentAnswers unsent;
  uint32_t num_calls = 0;  // Calls and requests that have come and not ended.

 private:
  // Handles what has come; waits for it if no call waits. Sets `start` to when
  // there was something to do. Returns false once the queue is shut down.
  bool Read(int64_t* start);
  void OnClose(bool ok);
  void OnHurry(bool ok);
  void OnTurn(bool) { took_turn_ = true; }
  // Drops answers that are too old, and comes again for the next.
  void OnStale(bool ok);
  void WaitForStale();

  MemberEvent<CallQueue> close_{this, &CallQueue::OnClose};
  MemberEvent<CallQueue> hurry_{this, &CallQueue::OnHurry};
  MemberEvent<CallQueue> stale_{this, &CallQueue::OnStale};
  MemberEvent<CallQueue> turn_{this, &CallQueue::OnTurn};
  std::atomic<bool> took_turn_{true};
  double hurry_seconds_ = 0;
  grpc::Alarm close_alarm_;
  grpc::Alarm stale_alarm_;
  bool waits_for_stale_ = false;
};

}  // namespace sortition
