#pragma once
// Identity of a span, and how a caller passes it on: W3C Trace Context,
// https://www.w3.org/TR/trace-context/.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

struct TraceContext {
  TraceId trace_id{};
  SpanId span_id{};  // Span of the caller: parent of the spans made from this.
  bool is_sampled = false;
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Parses the value of a `traceparent` header. Returns nullopt if it is empty or
// malformed: the caller must then start a trace of its own. Values of later
// versions than 00 are read as the standard requires. Allocates nothing.
std::optional<TraceContext> ParseTraceparent(absl::string_view header);

// Returns the trace id and the span id as 24 bytes, the form in which a
// decision record holds them (log.proto, trace_context).
std::string PackTraceContext(const TraceContext& context);

// Reads what PackTraceContext() returned, as sampled. Returns nullopt if
// `bytes` has another length or one of the ids is 0.
std::optional<TraceContext> UnpackTraceContext(absl::string_view bytes);

// Return random ids that are not 0. Thread-safe.
TraceId NewTraceId();
SpanId NewSpanId();

// Returns a random number in [0, 1). Thread-safe; takes a few nanoseconds.
double RandomShare();

}  // namespace sortition
