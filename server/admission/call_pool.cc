#include "server/admission/call_pool.h"

#include <algorithm>

namespace sortition {
namespace {

// While waits stay long, as many calls may wait for each thread, so that it
// always finds one.
constexpr size_t kCallsBehind = 4;

// What one call can tell of those that come.
constexpr double kMostPace = 1000;

// How long a thread will be busy. A call that has taken longer than was thought
// may take as long again.
double Remaining(int64_t start, double seconds, int64_t now) {
  if (start == 0) return 0;
  const double taken = 1e-9 * static_cast<double>(now - start);
  return taken < seconds ? seconds - taken : taken;
}

}  // namespace

CallPool::CallPool(uint32_t num_threads, Admission* admission, PoolRule rule)
    : admission_(admission),
      rule_(rule),
      running_(num_threads),
      limit_(admission->limits().max_long_wait_seconds(),
             admission->limits().max_wait_seconds()) {
  for (uint32_t i = 0; i < num_threads; ++i) {
    threads_.emplace_back(&CallPool::Serve, this, i);
  }
}

CallPool::~CallPool() { Stop(); }

// The first moment by which the threads, each from when it is free, have had
// time for all that waits.
double CallPool::EstimateSeconds(int64_t now) const {
  std::vector<double> busy;
  for (const Running& running : running_) {
    busy.push_back(Remaining(running.start, running.seconds, now));
  }
  std::sort(busy.begin(), busy.end());
  double moment = busy[0];
  double work = waiting_seconds_;
  for (size_t i = 0; i < busy.size() && work > 0; ++i) {
    // i + 1 threads are free, until the next one is.
    const auto num_free = static_cast<double>(i + 1);
    const double least = moment + work / num_free;
    const double next = i + 1 < busy.size() ? busy[i + 1] : least;
    work -= num_free * (std::min(least, next) - moment);
    moment = std::min(least, next);
  }
  return moment;
}

std::optional<Refusal> CallPool::Check(double seconds_left) {
  const config::v1::AdmissionLimits& limits = admission_->limits();
  const int64_t now = MonotonicNanos();
  const double wait = EstimateSeconds(now);
  const double target = limits.target_wait_seconds();
  if (waiting_.empty() || wait <= target / 2) limit_.NoteCalm(now);
  const bool are_few = waiting_.size() < kCallsBehind * running_.size();
  if (waiting_.size() >= limits.max_long_waiting()) {
    return Refusal{RefusalReason::kWaiting, wait};
  }
  if (rule_ == PoolRule::kTooMany) return std::nullopt;
  Refusal refusal;
  const double longest =
      are_few ? limits.max_long_wait_seconds() : limit_.Seconds(now, target);
  if (!CannotWait(wait, seconds_left, longest, &refusal)) return std::nullopt;
  return refusal;
}

std::optional<Refusal> CallPool::Add(PooledCall* call, const LongWork& work,
                                     double seconds_left) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return std::nullopt;
    if (const auto refusal = Check(seconds_left)) return refusal;
    const double pace =
        work.pace->is_empty() ? 1 : std::min(work.pace->value(), kMostPace);
    waiting_.push_back({call, work, work.seconds * pace});
    waiting_seconds_ += waiting_.back().seconds;
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

void CallPool::Serve(size_t thread) {
  DecisionScratch scratch;
  scratch.may_take_long = true;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    waiting_seconds_ = waiting_.empty() ? 0 : waiting_seconds_ - next.seconds;
    --admission_->long_waiting;
    const int64_t start = MonotonicNanos();
    running_[thread] = {start, next.seconds};
    lock.unlock();
    const bool is_done = next.call->Run(&scratch);
    scratch.Shrink();
    const double seconds = 1e-9 * static_cast<double>(MonotonicNanos() - start);
    lock.lock();
    running_[thread] = {};
    if (is_done) next.work.pace->Add(seconds / next.work.seconds);
  }
}

}  // namespace sortition
