#pragma once
// Mean and sample variance of a stream, whose values may count differently.
#include <cstddef>
#include <cstdint>
#include <span>

namespace sortition {

// Welford's recurrence: one pass, constant memory and no cancellation.
class Moments {
 public:
  void Add(double value) { Add(value, 1); }

  // Adds a value that counts as `weight` > 0 values. It need not be an integer.
  void Add(double value, double weight) {
    ++count_;
    total_ += weight;
    const double difference = value - mean_;
    mean_ += difference * weight / total_;
    squares_ += weight * difference * (value - mean_);
  }

  // Adds many values at once: computes their own moments and merges the two
  // samples [ChanGolubLeVeque83]. Equal to adding each value, up to rounding.
  void Add(std::span<const double> values) {
    Merge(
        values.size(), static_cast<double>(values.size()),
        [values](size_t i) { return values[i]; },
        [values](size_t i, double mean) {
          return (values[i] - mean) * (values[i] - mean);
        });
  }

  // Does the same for values that count as `weights`. Requires equal sizes.
  void Add(std::span<const double> values, std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    Merge(
        values.size(), total, [=](size_t i) { return weights[i] * values[i]; },
        [=](size_t i, double mean) {
          return weights[i] * (values[i] - mean) * (values[i] - mean);
        });
  }

  uint64_t count() const { return count_; }
  double total() const { return total_; }  // Σ weight; count() if all are 1.
  double mean() const { return mean_; }    // 0 if count() = 0.
  // Has the divisor total() - 1; 0 if total() <= 1.
  double variance() const { return total_ > 1 ? squares_ / (total_ - 1) : 0; }

 private:
  // Adds n values of the weight `total`, given by their part of the sum and,
  // for a mean, of the sum of squares.
  template <typename Part, typename Square>
  void Merge(size_t n, double total, const Part& part, const Square& square) {
    if (n == 0) return;
    const double mean = SumOf(n, part) / total;
    const double squares = SumOf(n, [&](size_t i) { return square(i, mean); });
    const double before = total_;
    count_ += n;
    total_ += total;
    const double share = total / total_;
    const double difference = mean - mean_;
    mean_ += difference * share;
    squares_ += squares + difference * difference * before * share;
  }

  // Adds in four lanes, which processors can do in parallel.
  template <typename Function>
  static double SumOf(size_t n, const Function& function) {
    double lanes[4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (size_t k = 0; k < 4; ++k) lanes[k] += function(i + k);
    }
    for (size_t k = 0; i + k < n; ++k) lanes[k] += function(i + k);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }

  uint64_t count_ = 0;
  double total_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Σ weight (value - mean)²
};

}  // namespace sortition
