#include "server/shadows/shadow_queue.h"

#include <utility>

namespace sortition {

bool ShadowQueue::Reserve(uint64_t bytes) {
  if (bytes_.fetch_add(bytes) + bytes <= limit_bytes_) return true;
  bytes_.fetch_sub(bytes);
  return false;
}

// The taker runs with low priority and may lose the processor while it holds
// the lock, for longer than a request can wait.
bool ShadowQueue::TryPush(std::unique_ptr<ShadowJob>* job) {
  constexpr int kTries = 100;
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int i = 0; i < kTries && !lock.owns_lock(); ++i) lock.try_lock();
  if (!lock.owns_lock() || is_closed_) return false;
  PushLocked(std::move(*job));
  return true;
}

void ShadowQueue::Push(std::unique_ptr<ShadowJob> job) {
  const std::lock_guard lock(mutex_);
  PushLocked(std::move(job));
}

void ShadowQueue::PushLocked(std::unique_ptr<ShadowJob> job) {
  jobs_.push_back(std::move(job));
  // To wake a thread costs more than the rest.
  if (std::exchange(is_waiting_, false)) work_.notify_one();
}

std::deque<std::unique_ptr<ShadowJob>> ShadowQueue::TakeAll() {
  std::unique_lock lock(mutex_);
  while (jobs_.empty() && !is_closed_) {
    is_waiting_ = true;
    work_.wait(lock);
  }
  is_waiting_ = false;
  return std::exchange(jobs_, {});
}

void ShadowQueue::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  work_.notify_one();
}

}  // namespace sortition
