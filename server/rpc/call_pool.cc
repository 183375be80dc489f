#include "server/rpc/call_pool.h"

#include "server/rpc/waiting_calls.h"

namespace sortition {

CallPool::CallPool(uint32_t num_threads, Admission* admission)
    : admission_(admission) {
  for (uint32_t i = 0; i < num_threads; ++i) {
    threads_.emplace_back(&CallPool::Serve, this);
  }
}

CallPool::~CallPool() { Stop(); }

std::optional<Refusal> CallPool::Add(PooledCall* call, double seconds_left) {
  const config::v1::AdmissionLimits& limits = admission_->limits();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return std::nullopt;
    const double wait = seconds_per_call_.value() *
                        static_cast<double>(waiting_.size()) /
                        static_cast<double>(threads_.size());
    if (waiting_.size() >= limits.max_long_waiting()) {
      return Refusal{RefusalReason::kWaiting, wait};
    }
    Refusal refusal;
    if (CannotWait(wait, seconds_left, limits.max_long_wait_seconds(),
                   &refusal)) {
      return refusal;
    }
    waiting_.push_back(call);
    ++admission_->long_waiting;
  }
  changed_.notify_one();
  return std::nullopt;
}

void CallPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void CallPool::Serve() {
  DecisionScratch scratch;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    PooledCall* const call = waiting_.front();
    waiting_.pop_front();
    --admission_->long_waiting;
    lock.unlock();
    const int64_t start = MonotonicNanos();
    call->Run(&scratch);
    // A thread that waits must not keep a version from being unloaded.
    scratch.models = SeenModels();
    const int64_t end = MonotonicNanos();
    lock.lock();
    seconds_per_call_.Add(1e-9 * static_cast<double>(end - start));
  }
}

}  // namespace sortition
