#include "server/rpc/request_spans.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/identity/authorizer.h"

namespace sortition {
namespace {

// Returns the traceparent of the caller; empty if there is none, or several,
// which the standard forbids.
absl::string_view FindTraceparent(const grpc::ServerContext& context) {
  const auto [begin, end] =
      context.client_metadata().equal_range("traceparent");
  if (begin == end || std::next(begin) != end) return "";
  return {begin->second.data(), begin->second.size()};
}

// Returns whether the code means that the server failed, by OpenTelemetry's
// conventions for gRPC. Others are refusals that the caller can avoid.
bool IsFailure(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// Makes the children of a request.
class Children {
 public:
  Children(const RequestTrace& trace, std::vector<Span>* spans)
      : trace_(trace), spans_(spans) {}

  // Adds a child from `start` to `end` (MonotonicNanos()).
  void Add(const char* name, int64_t start, int64_t end) {
    spans_->push_back({.trace_id = trace_.ids.trace_id,
                       .span_id = NewSpanId(),
                       .parent_id = trace_.ids.span_id,
                       .name = name,
                       .start_ns = UnixNanos(start),
                       .end_ns = UnixNanos(end)});
  }
  int64_t UnixNanos(int64_t time) const {
    return trace_.start_unix_ns + (time - trace_.start_ns);
  }

 private:
  const RequestTrace& trace_;
  std::vector<Span>* const spans_;
};

std::vector<SpanAttribute> AttributesOf(const RequestTrace& trace,
                                        const RequestEnd& end) {
  const std::pair<absl::string_view, absl::string_view> method =
      absl::StrSplit(end.method, absl::MaxSplits('/', 1));
  std::vector<SpanAttribute> attributes = {
      {"rpc.system", std::string("grpc")},
      {"rpc.service", std::string(method.first)},
      {"rpc.method", std::string(method.second)},
      {"rpc.grpc.status_code", int64_t{end.status.raw_code()}},
      {"sortition.status", absl::StatusCodeToString(end.status.code())},
      {"sortition.transport",
       std::string(absl::StartsWith(PeerName(end.context), "http:") ? "http"
                                                                    : "grpc")}};
  const auto add = [&attributes](const char* key, const std::string& value) {
    if (!value.empty()) attributes.push_back({key, value});
  };
  add("sortition.decision_id", trace.decision_id);
  add("sortition.model", trace.model);
  add("sortition.policy", trace.policy);
  if (!trace.model.empty()) {
    attributes.push_back(
        {"sortition.version", static_cast<int64_t>(trace.version)});
  }
  if (trace.num_candidates > 0) {
    attributes.push_back(
        {"sortition.candidates", int64_t{trace.num_candidates}});
  }
  if (trace.num_reports > 0) {
    attributes.push_back({"sortition.reports", int64_t{trace.num_reports}});
  }
  return attributes;
}

}  // namespace

std::unique_ptr<RequestTrace> BeginTrace(const Tracer& tracer,
                                         const grpc::ServerContext& context,
                                         int64_t now) {
  const std::optional<SpanIds> ids = tracer.Sample(FindTraceparent(context));
  if (!ids.has_value()) return nullptr;
  auto trace = std::make_unique<RequestTrace>();
  trace->ids = *ids;
  trace->start_unix_ns = absl::GetCurrentTimeNanos();
  trace->start_ns = now;
  return trace;
}

std::vector<Span> MakeSpans(const RequestTrace& trace, const RequestEnd& end) {
  std::vector<Span> spans;
  Children children(trace, &spans);
  Span request = {.trace_id = trace.ids.trace_id,
                  .span_id = trace.ids.span_id,
                  .parent_id = trace.ids.parent_id,
                  .name = end.method,
                  .kind = SpanKind::kServer,
                  .start_ns = trace.start_unix_ns,
                  .end_ns = children.UnixNanos(end.now),
                  .attributes = AttributesOf(trace, end)};
  if (IsFailure(end.status.code())) {
    request.error = std::string(end.status.message());
  }
  spans.push_back(std::move(request));
  const bool is_decided = trace.decision_ns != 0;
  const bool is_appended = is_decided && trace.append_ns != 0;
  children.Add("admission", trace.start_ns,
               is_decided ? trace.decision_ns : end.now);
  if (is_decided) {
    children.Add("decision", trace.decision_ns,
                 is_appended ? trace.append_ns : end.now);
  }
  if (is_appended) {
    children.Add("append", trace.append_ns,
                 trace.appended_ns != 0 ? trace.appended_ns : end.now);
  }
  return spans;
}

}  // namespace sortition
