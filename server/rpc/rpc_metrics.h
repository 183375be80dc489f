#pragma once
// The metrics of every RPC.
#include <array>
#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "process/metrics.h"

namespace sortition {

// The metrics of one method. Thread-safe.
class RpcMetrics {
 public:
  // `metrics` must outlive it.
  RpcMetrics(std::string method, Metrics* metrics);

  const std::string& method() const { return method_; }

  void Record(absl::StatusCode code, double seconds);

 private:
  static constexpr size_t kCodes = 17;  // OK to UNAUTHENTICATED.
  const std::string method_;
  Metrics* const metrics_;
  MetricHistogram* const seconds_;
  // Created when first needed: a code that never occurs makes no time series.
  std::array<std::atomic<MetricCounter*>, kCodes> requests_{};
};

}  // namespace sortition
