#pragma once
// Refuses calls when the server has more to do than it can, and says when to
// try again.
#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "process/metrics.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// Why a call is refused.
enum class RefusalReason {
  kWaiting,   // As many calls wait as may.
  kWait,      // It would wait too long.
  kWaited,    // It has waited too long.
  kDeadline,  // Its deadline would pass while it waits.
  kCalls,     // Too many calls are in work, or were not taken by their callers.
  kBytes,     // Requests in work have too many bytes.
};

struct Refusal {
  RefusalReason reason;
  double retry_seconds;  // When a new attempt might be admitted.
};

// The mean of recent times, in seconds; 0 before the first.
class RecentMean {
 public:
  void Add(double seconds) {
    mean_ = is_empty_ ? seconds : mean_ + (seconds - mean_) / 8;
    is_empty_ = false;
  }
  double value() const { return mean_; }

 private:
  double mean_ = 0;
  bool is_empty_ = true;
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

  // How many calls wait now.
  std::atomic<int64_t> waiting{0};
  std::atomic<int64_t> long_waiting{0};

 private:
  static constexpr size_t kReasons = 6;
  const config::v1::AdmissionLimits limits_;
  std::atomic<uint64_t> bytes_{0};
  std::array<MetricCounter*, kReasons> refused_;
  MetricCounter* const dropped_answers_;
};

// Returns why a call with so many seconds left must not wait for
// `wait_seconds`, if it must not.
bool CannotWait(double wait_seconds, double seconds_left, double most_seconds,
                Refusal* refusal);

// The hint of a refusal to callers, in milliseconds, at least 1.
int64_t RetryMilliseconds(double seconds);

}  // namespace sortition
