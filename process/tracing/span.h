#pragma once
// A span: what a program did in a period of time, as part of a trace.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "process/tracing/trace_context.h"

namespace sortition {

using SpanValue = std::variant<std::string, bool, double, int64_t>;

struct SpanAttribute {
  std::string key;
  SpanValue value;
};

// The numbers are those of OTLP.
enum class SpanKind { kInternal = 1, kServer = 2 };

struct Span {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};  // All 0: the span is the root of its trace.
  std::string name = {};
  SpanKind kind = SpanKind::kInternal;
  int64_t start_ns = 0;  // Unix time, nanoseconds.
  int64_t end_ns = 0;
  std::vector<SpanAttribute> attributes = {};
  // Error message. Unset: the work was done, or refused for a reason that is
  // the caller's.
  std::optional<std::string> error = std::nullopt;
};

}  // namespace sortition
