#pragma once
// Mean and sample variance of a stream.
#include <cstddef>
#include <cstdint>
#include <span>

namespace sortition {

// Welford's recurrence: one pass, constant memory and no cancellation.
class Moments {
 public:
  void Add(double value) {
    ++count_;
    const double difference = value - mean_;
    mean_ += difference / static_cast<double>(count_);
    squares_ += difference * (value - mean_);
  }

  // Adds many values at once: computes their own moments and merges the two
  // samples [ChanGolubLeVeque83]. Equal to adding each value, up to rounding.
  void Add(std::span<const double> values) {
    if (values.empty()) return;
    const double n = static_cast<double>(values.size());
    const double mean = SumOf(values, [](double value) { return value; }) / n;
    const double squares = SumOf(values, [mean](double value) {
      return (value - mean) * (value - mean);
    });
    const double before = static_cast<double>(count_);
    count_ += values.size();
    const double share = n / static_cast<double>(count_);
    const double difference = mean - mean_;
    mean_ += difference * share;
    squares_ += squares + difference * difference * before * share;
  }

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }  // 0 if count() = 0.
  // Has the divisor count() - 1; 0 if count() < 2.
  double variance() const {
    return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1);
  }

 private:
  // Adds in four lanes, which processors can do in parallel.
  template <typename Function>
  static double SumOf(std::span<const double> values,
                      const Function& function) {
    double lanes[4] = {};
    size_t i = 0;
    for (; i + 4 <= values.size(); i += 4) {
      for (size_t k = 0; k < 4; ++k) lanes[k] += function(values[i + k]);
    }
    for (size_t k = 0; i + k < values.size(); ++k) {
      lanes[k] += function(values[i + k]);
    }
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }

  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Σ (value - mean)²
};

}  // namespace sortition
