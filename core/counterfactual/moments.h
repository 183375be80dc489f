#pragma once
// Mean and sample variance of a stream.
#include <cstdint>

namespace sortition {

// Welford's recurrence: no cancellation, one pass, constant memory.
class Moments {
 public:
  void Add(double value) {
    ++count_;
    const double difference = value - mean_;
    mean_ += difference / static_cast<double>(count_);
    squares_ += difference * (value - mean_);
  }

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }  // 0 where count() = 0.
  // With divisor count() - 1; 0 where count() < 2.
  double variance() const {
    return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1);
  }

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Σ (value - mean)²
};

}  // namespace sortition
