#pragma once
// What waits for the thread of the shadows: bounded, and never waited for by
// the thread of a request.
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/data/action.h"
#include "server/models/serving_set.h"
#include "server/shadows/query_copy.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// A decision that was logged, for those who look on.
struct ShadowJob {
  explicit ShadowJob(const PolicyQuery& its_query) : query(its_query) {}

  std::shared_ptr<const ServingSet> set;
  std::vector<const ServingSet::Shadow*> shadows;  // Belong to `set`.
  QueryCopy query;
  std::string decision_id;
  Action action;  // That was served.
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t top_k = 0;  // As Decision.top_k, by which it is verified.
  model::v1::LearningMode mode = model::v1::ONLINE;
  uint64_t bytes = 0;  // What it counts for in the queue.
  // What they say; filled in later.
  std::vector<log::v1::LogRecord> views;
  ShadowJob* before = nullptr;  // Of the queue.
};

// Thread-safe; one thread takes. Takes no lock: the taker runs with low
// priority and may stand still at any moment, for longer than a request can
// wait.
class ShadowQueue {
 public:
  // Reserve() keeps what is reserved at `limit_bytes` or less.
  explicit ShadowQueue(uint64_t limit_bytes);
  ~ShadowQueue();
  ShadowQueue(const ShadowQueue&) = delete;
  ShadowQueue& operator=(const ShadowQueue&) = delete;

  // Reserves room; false: there is none. What was reserved is released when the
  // job is gone.
  bool Reserve(uint64_t bytes);
  void Release(uint64_t bytes) { bytes_.fetch_sub(bytes); }

  // Adds a job; false: the queue is closed.
  bool Push(std::unique_ptr<ShadowJob>* job);

  // Waits for jobs and returns all, oldest first; empty: it is closed, and all
  // have been taken.
  std::deque<std::unique_ptr<ShadowJob>> TakeAll();
  void Close();

  uint64_t bytes() const { return bytes_.load(); }

 private:
  // Stands for the end of the list where the queue is closed.
  ShadowJob* Closed() { return reinterpret_cast<ShadowJob*>(this); }
  // Returns the jobs of a list, the last one first.
  static std::deque<std::unique_ptr<ShadowJob>> InOrder(ShadowJob* newest);

  const uint64_t limit_bytes_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<ShadowJob*> newest_{nullptr};  // A list by ShadowJob::before.
  sem_t work_;  // Posted where the list was empty, and by Close().
  // What was left when it was closed; the taker's, once that is settled.
  ShadowJob* rest_ = nullptr;
  std::atomic<bool> is_settled_{false};
};

}  // namespace sortition
