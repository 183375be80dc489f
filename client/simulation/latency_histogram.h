#pragma once
// Computes percentiles of latencies in bounded memory.
#include <cstdint>
#include <vector>

namespace sortition {

// Counts latencies in buckets whose bounds grow by 1 %, from 1 µs to over an
// hour: a percentile is off by at most 1 %. Not thread-safe: use one per thread
// and merge them.
class LatencyHistogram {
 public:
  LatencyHistogram();

  void Add(double seconds);
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  double max_seconds() const { return max_seconds_; }
  // Returns the smallest bound that at least the share `quantile`, in [0, 1],
  // of the latencies does not exceed; 0 where there are none.
  double Quantile(double quantile) const;

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double max_seconds_ = 0;
};

}  // namespace sortition
