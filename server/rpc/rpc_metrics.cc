#include "server/rpc/rpc_metrics.h"

#include <algorithm>
#include <utility>

namespace sortition {

RpcMetrics::RpcMetrics(std::string method, Metrics* metrics)
    : method_(std::move(method)),
      metrics_(metrics),
      seconds_(metrics->Histogram(
          "sortition_request_seconds",
          "Time from taking up a request to sending its answer, seconds",
          LatencyBuckets(), {{"method", method_}})) {}

void RpcMetrics::Record(absl::StatusCode code, double seconds) {
  seconds_->Observe(seconds);
  const size_t index = std::min(static_cast<size_t>(code), kCodes - 1);
  MetricCounter* counter = requests_[index].load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = metrics_->Counter(
        "sortition_requests_total",
        "Requests answered, by method and status code",
        {{"method", method_}, {"code", absl::StatusCodeToString(code)}});
    requests_[index].store(counter, std::memory_order_release);
  }
  counter->Increment();
}

}  // namespace sortition
