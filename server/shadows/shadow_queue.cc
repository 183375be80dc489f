#include "server/shadows/shadow_queue.h"

#include <utility>

namespace sortition {

ShadowQueue::ShadowQueue(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {
  sem_init(&work_, /*pshared=*/0, /*value=*/0);
}

ShadowQueue::~ShadowQueue() {
  Close();
  InOrder(rest_);
  sem_destroy(&work_);
}

bool ShadowQueue::Reserve(uint64_t bytes) {
  if (bytes_.fetch_add(bytes) + bytes <= limit_bytes_) return true;
  bytes_.fetch_sub(bytes);
  return false;
}

bool ShadowQueue::Push(std::unique_ptr<ShadowJob>* job) {
  ShadowJob* const added = job->get();
  ShadowJob* newest = newest_.load();
  do {
    if (newest == Closed()) return false;
    added->before = newest;
  } while (!newest_.compare_exchange_weak(newest, added));
  job->release();
  // To wake a thread costs more than the rest.
  if (newest == nullptr) sem_post(&work_);
  return true;
}

std::deque<std::unique_ptr<ShadowJob>> ShadowQueue::TakeAll() {
  while (true) {
    ShadowJob* newest = newest_.load();
    while (newest != nullptr && newest != Closed()) {
      if (newest_.compare_exchange_weak(newest, nullptr)) {
        return InOrder(newest);
      }
    }
    if (newest == Closed() && is_settled_) {
      return InOrder(std::exchange(rest_, nullptr));
    }
    sem_wait(&work_);  // May return early: a signal has come.
  }
}

void ShadowQueue::Close() {
  ShadowJob* const rest = newest_.exchange(Closed());
  if (rest == Closed()) return;
  rest_ = rest;
  is_settled_ = true;
  sem_post(&work_);
}

std::deque<std::unique_ptr<ShadowJob>> ShadowQueue::InOrder(ShadowJob* newest) {
  std::deque<std::unique_ptr<ShadowJob>> jobs;
  while (newest != nullptr) {
    ShadowJob* const before = newest->before;
    jobs.emplace_front(newest);
    newest = before;
  }
  return jobs;
}

}  // namespace sortition
