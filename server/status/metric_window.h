#pragma once
// Metrics of the last minute, for rates and percentiles.
#include <cstdint>
#include <deque>
#include <utility>

#include "process/metrics.h"

namespace sortition {

// Keeps the few metrics that are compared. Not thread-safe.
class MetricWindow {
 public:
  static constexpr int64_t kLengthUs = 60'000'000;

  // Adds metrics that were read at a time of a clock that is never set, and
  // forgets those that are no longer needed.
  void Add(int64_t steady_us, const MetricSamples& samples);

  bool is_empty() const { return entries_.empty(); }

  struct Before {
    const MetricSamples* samples;
    double seconds;  // From then to now; above 0.
  };
  // Returns the metrics of about a minute ago, or the oldest there are;
  // nothing, and a second, where there are none.
  Before Minute(int64_t steady_us) const;
  // The same of the last that were added.
  Before Last(int64_t steady_us) const;

 private:
  struct Entry {
    int64_t steady_us;
    MetricSamples samples;
  };
  static Before BeforeOf(const Entry& entry, int64_t steady_us);

  std::deque<Entry> entries_;  // Oldest first.
};

}  // namespace sortition
