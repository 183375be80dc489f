#pragma once
// Threads for calls that would keep others waiting in a completion queue.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/admission/admission.h"
#include "server/decisions/decision_scratch.h"

namespace sortition {

class PooledCall {
 public:
  virtual ~PooledCall() = default;
  // Called in a thread of the pool, with the memory of that thread. Returns
  // whether the work was done, rather than refused.
  virtual bool Run(DecisionScratch* scratch) = 0;
};

// What a call is thought to take, and how wrong such thoughts were.
struct LongWork {
  double seconds = 0;          // By what is known of the request.
  RecentMean* pace = nullptr;  // What similar calls took, over that; the pool
                               // guards it.
};

// Which calls a pool refuses.
enum class PoolRule {
  kLongWaits,  // Those that would wait too long, or too many.
  kTooMany,    // Only too many: control calls take long without any overload.
};

// Thread-safe. Runs calls in the order in which they come.
class CallPool {
 public:
  // `admission` must outlive it.
  CallPool(uint32_t num_threads, Admission* admission,
           PoolRule rule = PoolRule::kLongWaits);
  ~CallPool();  // Stop()

  // Takes `call`, whose deadline is in `seconds_left`, or returns why not. It
  // must live until it was run, or until Stop() returns; so must work.pace.
  // After Stop() it is dropped.
  std::optional<Refusal> Add(PooledCall* call, const LongWork& work,
                             double seconds_left);

  // Waits for the calls that run, and drops those that wait.
  void Stop();

 private:
  struct Waiting {
    PooledCall* call;
    LongWork work;
    double seconds;  // By its pace.
  };
  // What a thread does now.
  struct Running {
    int64_t start = 0;  // 0: nothing.
    double seconds = 0;
  };

  void Serve(size_t thread);
  // The time that a call that comes now would wait, seconds. Requires `mutex_`,
  // as the next.
  double EstimateSeconds(int64_t now) const;
  std::optional<Refusal> Check(double seconds_left);

  Admission* const admission_;
  const PoolRule rule_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by `mutex_`:
  std::deque<Waiting> waiting_;
  double waiting_seconds_ = 0;    // The sum of theirs.
  std::vector<Running> running_;  // By thread.
  WaitLimit limit_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;  // Not guarded.
};

}  // namespace sortition
