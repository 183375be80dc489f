#pragma once
// Refuses requests when the server has more to do than it can, and says when to
// try again.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "process/metrics.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// A time that only grows, in nanoseconds.
inline int64_t MonotonicNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Why a request is refused.
enum class RefusalReason {
  kWaiting,   // As many requests wait as may.
  kWait,      // It would wait too long.
  kWaited,    // It has waited too long.
  kDeadline,  // Its deadline would pass while it waits.
  kCalls,     // Too many are in work, or were not taken by their callers.
  kBytes,     // Requests in work have too many bytes.
};

struct Refusal {
  RefusalReason reason;
  double retry_seconds;  // When a new attempt might be admitted.
};

// The mean of recent values; 0 before the first.
class RecentMean {
 public:
  void Add(double value) {
    mean_ = is_empty_ ? value : mean_ + (value - mean_) / 8;
    is_empty_ = false;
  }
  double value() const { return mean_; }
  bool is_empty() const { return is_empty_; }

 private:
  double mean_ = 0;
  bool is_empty_ = true;
};

// How long may be waited now. While waits stay long, less than in a burst, so
// that what is answered has not all waited as long [NicholsJacobson12, for
// packets].
class WaitLimit {
 public:
  // A burst lasts up to `patience_seconds`.
  WaitLimit(double most_seconds, double patience_seconds)
      : most_seconds_(most_seconds), patience_seconds_(patience_seconds) {}

  // Nothing has waited long at this time.
  void NoteCalm(int64_t now) { calm_ = now; }
  // `target_seconds`: what holds behind the burst.
  double Seconds(int64_t now, double target_seconds) const {
    const double seconds = 1e-9 * static_cast<double>(now - calm_);
    return seconds <= patience_seconds_
               ? most_seconds_
               : std::min(target_seconds, most_seconds_);
  }

 private:
  const double most_seconds_;
  const double patience_seconds_;
  int64_t calm_ = MonotonicNanos();
};

// What all queues and the pool share. Thread-safe.
class Admission {
 public:
  // `metrics` must outlive it.
  Admission(const config::v1::AdmissionLimits& limits, Metrics* metrics);

  const config::v1::AdmissionLimits& limits() const { return limits_; }

  // Takes the bytes of a request from the budget; false if they exceed it. A
  // request that is alone always gets them.
  bool TakeBytes(uint64_t bytes);
  void ReturnBytes(uint64_t bytes) { bytes_ -= bytes; }

  // Counts the refusal and returns its status, RESOURCE_EXHAUSTED.
  absl::Status Refuse(const Refusal& refusal);
  void CountDroppedAnswer() { dropped_answers_->Increment(); }

  // How many requests wait now.
  std::atomic<int64_t> waiting{0};
  std::atomic<int64_t> long_waiting{0};

 private:
  static constexpr size_t kReasons = 6;
  const config::v1::AdmissionLimits limits_;
  std::atomic<uint64_t> bytes_{0};
  std::array<MetricCounter*, kReasons> refused_;
  MetricCounter* const dropped_answers_;
};

// Returns why a request with so many seconds left must not wait for
// `wait_seconds`, if it must not.
bool CannotWait(double wait_seconds, double seconds_left, double most_seconds,
                Refusal* refusal);

// The hint of a refusal to callers, in milliseconds, at least 1.
int64_t RetryMilliseconds(double seconds);

}  // namespace sortition
