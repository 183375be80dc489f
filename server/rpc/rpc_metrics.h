#pragma once
// The metrics of every RPC: those of requests, and those of calls under the
// names of go-grpc-prometheus, which dashboards of others know.
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "process/metrics.h"

namespace sortition {

// Counters by status code. Thread-safe.
class CodeCounters {
 public:
  using Make = std::function<MetricCounter*(absl::StatusCode)>;
  explicit CodeCounters(Make make) : make_(std::move(make)) {}

  void Increment(absl::StatusCode code);

 private:
  static constexpr size_t kCodes = 17;  // OK to UNAUTHENTICATED.
  const Make make_;
  // Made when first needed: a code that never occurs makes no time series.
  std::array<std::atomic<MetricCounter*>, kCodes> counters_{};
};

// The metrics of one method. Thread-safe. A call of a unary method has one
// request; that of a stream has any number.
class RpcMetrics {
 public:
  // `method` is its name in metrics of requests; those of calls have that of
  // the method of the .proto file that takes such requests. `metrics` must
  // outlive it.
  RpcMetrics(std::string method, const google::protobuf::Descriptor* request,
             Metrics* metrics);

  const std::string& method() const { return method_; }

  // Counts a request and its answer.
  void Record(absl::StatusCode code, double seconds);

  // Count calls and their messages. These take no lock.
  void CountStarted() { started_->Increment(); }
  void CountReceived() { received_->Increment(); }
  void CountSent() { sent_->Increment(); }
  void CountHandled(absl::StatusCode code) { handled_.Increment(code); }
  // Counts a stream that has ended after `seconds`.
  void RecordStream(absl::StatusCode code, double seconds);

 private:
  const std::string method_;
  const MetricLabels labels_;  // Of the metrics of calls.
  MetricHistogram* const seconds_;
  CodeCounters requests_;
  MetricCounter* const started_;
  MetricCounter* const received_;
  MetricCounter* const sent_;
  CodeCounters handled_;
  // Null for a unary method, whose calls take as long as their requests.
  MetricHistogram* stream_seconds_ = nullptr;
};

}  // namespace sortition
