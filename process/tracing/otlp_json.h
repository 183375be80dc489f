#pragma once
// Spans as the body of an export: OTLP 1.x, ExportTraceServiceRequest in its
// JSON form, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.
#include <span>
#include <string>
#include <vector>

#include "process/tracing/span.h"

namespace sortition {

// Returns the body. `resource` describes the program. Ids are hexadecimal, and
// 64-bit numbers are strings of digits. An attribute that is not finite is left
// out.
std::string OtlpJson(const std::vector<SpanAttribute>& resource,
                     std::span<const Span> spans);

}  // namespace sortition
