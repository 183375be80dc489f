#pragma once
// Decides which requests are traced, and gives their spans to the exporter.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/metrics.h"
#include "process/tracing/span.h"
#include "process/tracing/span_exporter.h"
#include "process/tracing/trace_context.h"
#include "sortition/config/v1/tracing.pb.h"

namespace sortition {

// The place of a span in its trace.
struct SpanIds {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};  // All 0: none.
};

// Returns ids of a new child of `parent`.
SpanIds ChildOf(const TraceContext& parent);

// Thread-safe.
class Tracer {
 public:
  // Returns null if tracing.endpoint is empty: nothing is recorded then.
  // `service` is the name of the program, and `instance` tells its processes
  // apart; it may be empty. `metrics` may be null; otherwise it must outlive
  // the tracer. Errors as ValidateTracing().
  static absl::StatusOr<std::unique_ptr<Tracer>> Create(
      const config::v1::TracingOptions& options, absl::string_view service,
      absl::string_view instance, Metrics* metrics);

  // Decides whether a call with this traceparent is recorded: a valid one
  // decides by its flag "sampled", and the call becomes its child; without one,
  // or if it is malformed, the call is the root of a new trace at
  // tracing.sample_rate. Returns nullopt if the call is not recorded. Allocates
  // nothing and takes no lock.
  std::optional<SpanIds> Sample(absl::string_view traceparent) const;

  // Queues the spans (SpanExporter::Add).
  void Export(std::vector<Span> spans) { exporter_.Add(std::move(spans)); }

  // Sends what is queued, for at most SpanExporter::kFlushSeconds, and ends.
  void Stop() { exporter_.Stop(); }

 private:
  Tracer(const config::v1::TracingOptions& options, Collector collector,
         std::vector<SpanAttribute> resource, Metrics* metrics);

  const double sample_rate_;
  SpanExporter exporter_;
};

}  // namespace sortition
