#pragma once
// A completion queue with its thread, and how calls come back to it from other
// threads.
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "server/decisions/decision_scratch.h"
#include "server/rpc/waiting_calls.h"

namespace sortition {

// What a completion queue hands out.
class CompletionEvent {
 public:
  virtual ~CompletionEvent() = default;
  virtual void Proceed(bool ok) = 0;
};

struct CallQueue;

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

// Shuts a queue down in its own thread, which can therefore give it work
// without a lock.
class QueueClosing final : public CompletionEvent {
 public:
  explicit QueueClosing(CallQueue* queue) : queue_(queue) {}

  void Start();
  void Proceed(bool ok) override;

 private:
  CallQueue* const queue_;
  grpc::Alarm alarm_;
};

// Lets the thread of a queue forget which versions it has seen, which else it
// would keep until its next request.
class ModelsForgetting final : public CompletionEvent {
 public:
  explicit ModelsForgetting(CallQueue* queue) : queue_(queue) {}
  void Proceed(bool ok) override;

 private:
  CallQueue* const queue_;
};

// A completion queue with the memory of its one thread.
struct CallQueue {
  // `admission` must outlive it.
  explicit CallQueue(Admission* admission)
      : waiting(admission), unsent(admission) {}

  // The loop of the thread; returns once the queue is shut down.
  void Serve();

  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  DecisionScratch scratch;
  // Giving a queue work after its shutdown aborts. Its own thread looks at
  // `closed`, which only it writes; others do so under the lock.
  std::mutex mutex;
  bool closed = false;
  ReturnedCalls returned{this};
  QueueClosing closing{this};
  ModelsForgetting forgetting{this};  // Comes back as a returned call.
  // The rest belongs to the thread.
  WaitingCalls waiting;
  UnsentAnswers unsent;
  uint32_t num_calls = 0;  // Calls that have come and not ended.

 private:
  // Handles what has come; waits for it if no call waits. Sets `start` to when
  // there was something to do. Returns false once the queue is shut down.
  bool Read(int64_t* start);
};

}  // namespace sortition
