#include "sidecar/tuple_span.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sidecar/spools/record_wire.h"

namespace sortition {

void ExportTupleSpan(const ClosedDecision& closed,
                     const log::v1::BanditTuple& tuple,
                     absl::string_view decision, int64_t start_ns,
                     int64_t end_ns, Tracer* tracer) {
  const absl::StatusOr<absl::string_view> bytes = ViewTraceContext(decision);
  if (!bytes.ok()) return;
  const std::optional<TraceContext> request = UnpackTraceContext(*bytes);
  if (!request.has_value()) return;
  const SpanIds ids = ChildOf(*request);
  Span span = {.trace_id = ids.trace_id,
               .span_id = ids.span_id,
               .parent_id = ids.parent_id,
               .name = "join",
               .start_ns = start_ns,
               .end_ns = end_ns};
  const absl::StatusOr<DecisionWire> wire = ViewDecision(decision);
  if (wire.ok()) {
    span.attributes.push_back({"sortition.decision_id", std::string(wire->id)});
  }
  // Seconds from the decision to its tuple: the window, and what it waited.
  constexpr double kSecondsPerNano = 1e-9;
  const double seconds =
      kSecondsPerNano * static_cast<double>(start_ns - 1000 * closed.time_us);
  span.attributes.push_back({"sortition.join.seconds", seconds});
  span.attributes.push_back({"sortition.reward", tuple.reward()});
  span.attributes.push_back(
      {"sortition.feedback", int64_t{tuple.feedback_size()}});
  span.attributes.push_back({"sortition.shown", tuple.has_shown()});
  span.attributes.push_back({"sortition.censored", tuple.censored_size() > 0});
  std::vector<Span> spans;
  spans.push_back(std::move(span));
  tracer->Export(std::move(spans));
}

}  // namespace sortition
