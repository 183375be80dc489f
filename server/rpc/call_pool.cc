#include "server/rpc/call_pool.h"

namespace sortition {

CallPool::CallPool(uint32_t num_threads) {
  for (uint32_t i = 0; i < num_threads; ++i) {
    threads_.emplace_back(&CallPool::Serve, this);
  }
}

CallPool::~CallPool() { Stop(); }

void CallPool::Add(PooledCall* call) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    waiting_.push_back(call);
  }
  changed_.notify_one();
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
    lock.unlock();
    call->Run(&scratch);
    lock.lock();
  }
}

}  // namespace sortition
