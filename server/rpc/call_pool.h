#pragma once
// Threads for calls that would keep others waiting in a completion queue.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "server/decisions/decision_scratch.h"

namespace sortition {

class PooledCall {
 public:
  virtual ~PooledCall() = default;
  // Called in a thread of the pool, with the memory of that thread.
  virtual void Run(DecisionScratch* scratch) = 0;
};

// Thread-safe. Runs calls in the order in which they come. How many can wait is
// for the caller to bound.
class CallPool {
 public:
  explicit CallPool(uint32_t num_threads);
  ~CallPool();  // Stop()

  // Does nothing after Stop(). `call` must live until it was run, or until
  // Stop() returns.
  void Add(PooledCall* call);

  // Waits for the calls that run, and drops those that wait.
  void Stop();

 private:
  void Serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PooledCall*> waiting_;  // Guarded by `mutex_`.
  bool stopped_ = false;             // Guarded by `mutex_`.
  std::vector<std::thread> threads_;
};

}  // namespace sortition
