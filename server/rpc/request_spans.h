#pragma once
// Which requests are traced, and the spans of one that was.
#include <grpcpp/server_context.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/tracing/tracer.h"
#include "server/decisions/request_trace.h"

namespace sortition {

// Returns null if the request, which came at `now` (MonotonicNanos()), is not
// recorded. Its caller's `traceparent` decides, if there is one.
std::unique_ptr<RequestTrace> BeginTrace(const Tracer& tracer,
                                         const grpc::ServerContext& context,
                                         int64_t now);

// How a request ended.
struct RequestEnd {
  // Full name of the method, as in "sortition.v1.Ranking/Rank".
  const std::string& method;
  const grpc::ServerContext& context;
  const absl::Status& status;
  int64_t now = 0;  // MonotonicNanos()
};

// Returns the span of the request, and its children as far as it came:
// admission, decision, append.
std::vector<Span> MakeSpans(const RequestTrace& trace, const RequestEnd& end);

}  // namespace sortition
