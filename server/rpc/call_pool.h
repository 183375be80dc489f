#pragma once
// Threads for calls that would keep others waiting in a completion queue.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/decisions/decision_scratch.h"
#include "server/rpc/admission.h"

namespace sortition {

class PooledCall {
 public:
  virtual ~PooledCall() = default;
  // Called in a thread of the pool, with the memory of that thread.
  virtual void Run(DecisionScratch* scratch) = 0;
};

// Thread-safe. Runs calls in the order in which they come.
class CallPool {
 public:
  // `admission` must outlive it.
  CallPool(uint32_t num_threads, Admission* admission);
  ~CallPool();  // Stop()

  // Takes `call`, whose deadline is in `seconds_left`, or returns why not. It
  // must live until it was run, or until Stop() returns. After Stop() it is
  // dropped.
  std::optional<Refusal> Add(PooledCall* call, double seconds_left);

  // Waits for the calls that run, and drops those that wait.
  void Stop();

 private:
  void Serve();

  Admission* const admission_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PooledCall*> waiting_;  // Guarded by `mutex_`.
  RecentMean seconds_per_call_;      // Guarded by `mutex_`.
  bool stopped_ = false;             // Guarded by `mutex_`.
  std::vector<std::thread> threads_;
};

}  // namespace sortition
