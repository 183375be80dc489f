#pragma once
// What a traced request notes on its way, of which its spans are made.
#include <chrono>
#include <cstdint>
#include <string>

#include "process/tracing/tracer.h"

namespace sortition {

// Steady time in nanoseconds, on the same clock as that of admission.
inline int64_t TraceNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Only requests that are recorded have one. It belongs to the request: one
// thread at a time has it. Times are those of TraceNanos(); 0: not reached.
struct RequestTrace {
  SpanIds ids;                // Of the span of the request.
  int64_t start_unix_ns = 0;  // Time of day at `start_ns`.
  int64_t start_ns = 0;       // The request has come.
  int64_t decision_ns = 0;    // A thread takes it up.
  int64_t append_ns = 0;      // Its records are handed to the spool.
  int64_t appended_ns = 0;    // The spool has them, as durable as it must be.
  std::string model;
  uint64_t version = 0;
  std::string policy;
  std::string decision_id;
  uint32_t num_candidates = 0;
  uint32_t num_reports = 0;  // Feedback items or reports of what was shown.

  // The context that the decision record holds.
  TraceContext context() const {
    return {
        .trace_id = ids.trace_id, .span_id = ids.span_id, .is_sampled = true};
  }
};

}  // namespace sortition
