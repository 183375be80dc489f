#pragma once
// Log lines of single requests: the slow ones and the refused ones, under the
// names that their callers gave them.
#include <grpcpp/server_context.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace sortition {

// Thread-safe.
class RequestLog {
 public:
  // Requests that took `slow_seconds` or more are slow; 0: none is logged, nor
  // are those that were refused.
  explicit RequestLog(double slow_seconds) : slow_seconds_(slow_seconds) {}

  // Logs the request if it was slow or refused, with the caller's x-request-id
  // and traceparent (W3C Trace Context). At most kMostPerSecond lines a second:
  // the next line says how many were left out.
  void Note(const std::string& method, const grpc::ServerContext& context,
            const absl::Status& status, double seconds) {
    if (slow_seconds_ <= 0 || (status.ok() && seconds < slow_seconds_)) return;
    Write(method, context, status, seconds);
  }

  static constexpr int kMostPerSecond = 10;

 private:
  void Write(const std::string& method, const grpc::ServerContext& context,
             const absl::Status& status, double seconds);
  // Returns whether a line may be written now, and stores how many could not
  // since the last one.
  bool MayWrite(uint64_t* left_out);

  const double slow_seconds_;
  std::mutex mutex_;
  int64_t second_ = 0;  // Of the steady clock.
  int written_ = 0;     // Within it.
  uint64_t left_out_ = 0;
};

}  // namespace sortition
