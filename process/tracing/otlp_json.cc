#include "process/tracing/otlp_json.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "process/json_writer.h"
#include "process/version.h"

namespace sortition {
namespace {

constexpr uint64_t kStatusError = 2;  // STATUS_CODE_ERROR

template <size_t n>
std::string Hex(const std::array<uint8_t, n>& id) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(id.data()), n));
}

void WriteValue(const std::string& value, JsonWriter* json) {
  json->Key("stringValue").String(value);
}
void WriteValue(bool value, JsonWriter* json) {
  json->Key("boolValue").Bool(value);
}
void WriteValue(double value, JsonWriter* json) {
  json->Key("doubleValue").Number(value);
}
void WriteValue(int64_t value, JsonWriter* json) {
  json->Key("intValue").String(absl::StrCat(value));
}

void WriteAttributes(const std::vector<SpanAttribute>& attributes,
                     JsonWriter* json) {
  json->Key("attributes").BeginArray();
  for (const SpanAttribute& attribute : attributes) {
    const double* const number = std::get_if<double>(&attribute.value);
    if (number != nullptr && !std::isfinite(*number)) continue;
    json->BeginObject().Key("key").String(attribute.key);
    json->Key("value").BeginObject();
    std::visit([json](const auto& value) { WriteValue(value, json); },
               attribute.value);
    json->EndObject().EndObject();
  }
  json->EndArray();
}

void WriteSpan(const Span& span, JsonWriter* json) {
  json->BeginObject();
  json->Key("traceId").String(Hex(span.trace_id));
  json->Key("spanId").String(Hex(span.span_id));
  if (span.parent_id != SpanId{}) {
    json->Key("parentSpanId").String(Hex(span.parent_id));
  }
  json->Key("name").String(span.name);
  json->Key("kind").Count(static_cast<uint64_t>(span.kind));
  json->Key("startTimeUnixNano").String(absl::StrCat(span.start_ns));
  json->Key("endTimeUnixNano").String(absl::StrCat(span.end_ns));
  WriteAttributes(span.attributes, json);
  json->Key("status").BeginObject();
  if (span.error.has_value()) {
    json->Key("code").Count(kStatusError);
    json->Key("message").String(*span.error);
  }
  json->EndObject().EndObject();
}

}  // namespace

std::string OtlpJson(const std::vector<SpanAttribute>& resource,
                     std::span<const Span> spans) {
  JsonWriter json;
  json.BeginObject().Key("resourceSpans").BeginArray().BeginObject();
  json.Key("resource").BeginObject();
  WriteAttributes(resource, &json);
  json.EndObject();
  json.Key("scopeSpans").BeginArray().BeginObject();
  json.Key("scope").BeginObject();
  json.Key("name").String("sortition").Key("version").String(Version());
  json.EndObject();
  json.Key("spans").BeginArray();
  for (const Span& span : spans) WriteSpan(span, &json);
  json.EndArray().EndObject().EndArray();
  return json.EndObject().EndArray().EndObject().text();
}

}  // namespace sortition
