#include "client/simulation/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace sortition {
namespace {

constexpr double kSmallest = 1e-6;
constexpr double kGrowth = 1.01;
constexpr size_t kBuckets = 2300;  // 1.01^2300 µs is above two hours.

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kBuckets, 0) {}

void LatencyHistogram::Add(double seconds) {
  // Bucket b holds (kSmallest · kGrowth^(b-1), kSmallest · kGrowth^b].
  const double place =
      seconds <= kSmallest
          ? 0
          : std::ceil(std::log(seconds / kSmallest) / std::log(kGrowth));
  const size_t bucket =
      static_cast<size_t>(std::min<double>(place, kBuckets - 1));
  ++counts_[bucket];
  ++count_;
  max_seconds_ = std::max(max_seconds_, seconds);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
  count_ += other.count_;
  max_seconds_ = std::max(max_seconds_, other.max_seconds_);
}

double LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double needed = quantile * static_cast<double>(count_);
  uint64_t seen = 0;
  for (size_t b = 0; b < kBuckets; ++b) {
    seen += counts_[b];
    if (seen > 0 && static_cast<double>(seen) >= needed) {
      return std::min(max_seconds_,
                      kSmallest * std::pow(kGrowth, static_cast<double>(b)));
    }
  }
  return max_seconds_;
}

}  // namespace sortition
