#include "process/tracing/otlp_json.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "process/version.h"

namespace sortition {
namespace {

// Written by hand from opentelemetry-proto v1 (trace.proto, common.proto) and
// the rules of OTLP/JSON: lowerCamelCase, ids in hexadecimal, enums as numbers,
// 64-bit integers as strings.
constexpr char kExpected[] = R"({
"resourceSpans":[{
"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},
"scopeSpans":[{
"scope":{"name":"sortition","version":"VERSION"},
"spans":[{
"traceId":"0af7651916cd43dd8448eb211c80319c",
"spanId":"00f067aa0ba902b7",
"parentSpanId":"b7ad6b7169203331",
"name":"Rank",
"kind":2,
"startTimeUnixNano":"1544712660000000000",
"endTimeUnixNano":"9223372036854775807",
"attributes":[
{"key":"a","value":{"stringValue":"quote\" \\ \u0001 é"}},
{"key":"b","value":{"boolValue":true}},
{"key":"c","value":{"intValue":"-9007199254740993"}},
{"key":"d","value":{"doubleValue":0.5}}],
"status":{"code":2,"message":"no space"}},{
"traceId":"0af7651916cd43dd8448eb211c80319c",
"spanId":"0000000000000001",
"name":"root",
"kind":1,
"startTimeUnixNano":"0",
"endTimeUnixNano":"1",
"attributes":[],
"status":{}}]}]}]})";

Span ExampleSpan() {
  Span span;
  span.trace_id = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                   0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
  span.span_id = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
  span.parent_id = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
  span.name = "Rank";
  span.kind = SpanKind::kServer;
  span.start_ns = 1544712660000000000;
  span.end_ns = std::numeric_limits<int64_t>::max();
  span.attributes = {{"a", std::string("quote\" \\ \x01 é")},
                     {"b", true},
                     // A double would round it.
                     {"c", int64_t{-9007199254740993}},
                     {"d", 0.5},
                     {"left out", std::nan("")}};
  span.error = "no space";
  return span;
}

TEST(OtlpJsonTest, IsWhatTheSpecificationSays) {
  Span root;
  root.trace_id = ExampleSpan().trace_id;
  root.span_id = {0, 0, 0, 0, 0, 0, 0, 1};
  root.name = "root";
  root.end_ns = 1;
  const std::vector<Span> spans = {ExampleSpan(), root};
  const std::string expected = absl::StrReplaceAll(
      kExpected, {{"\n", ""}, {"VERSION", std::string(Version())}});
  EXPECT_EQ(OtlpJson({{"service.name", std::string("s")}}, spans), expected);
}

}  // namespace
}  // namespace sortition
