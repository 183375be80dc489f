#include "process/tracing/run_trace.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "process/tracing/tracer.h"

namespace sortition {

struct RunTrace::Rep {
  std::unique_ptr<Tracer> tracer;
  Span run;
  std::optional<Span> phase;  // That has begun.
  std::vector<Span> ended;

  // Ends the phase, if there is one. The error is that of the run, too.
  void EndPhase(int64_t now_ns, const absl::Status& status) {
    if (!phase.has_value()) return;
    phase->end_ns = now_ns;
    if (!status.ok()) phase->error = status.ToString();
    ended.push_back(*std::move(phase));
    phase.reset();
  }
};

RunTrace::RunTrace() = default;
RunTrace::RunTrace(RunTrace&&) noexcept = default;
RunTrace& RunTrace::operator=(RunTrace&&) noexcept = default;
RunTrace::~RunTrace() = default;

absl::StatusOr<RunTrace> RunTrace::Begin(
    const config::v1::TracingOptions& options, absl::string_view service,
    absl::string_view name) {
  RunTrace trace;
  ASSIGN_OR_RETURN(std::unique_ptr<Tracer> tracer,
                   Tracer::Create(options, service, "", nullptr));
  if (tracer == nullptr) return trace;
  const char* const given = std::getenv("TRACEPARENT");
  const std::optional<TraceContext> parent =
      ParseTraceparent(given == nullptr ? "" : given);
  if (parent.has_value() && !parent->is_sampled) return trace;
  const SpanIds ids = parent.has_value() ? ChildOf(*parent)
                                         : SpanIds{.trace_id = NewTraceId(),
                                                   .span_id = NewSpanId()};
  trace.rep_ = std::make_unique<Rep>();
  trace.rep_->tracer = std::move(tracer);
  trace.rep_->run = {.trace_id = ids.trace_id,
                     .span_id = ids.span_id,
                     .parent_id = ids.parent_id,
                     .name = std::string(name),
                     .start_ns = absl::GetCurrentTimeNanos()};
  return trace;
}

void RunTrace::BeginPhase(absl::string_view name) {
  if (rep_ == nullptr) return;
  const int64_t now_ns = absl::GetCurrentTimeNanos();
  rep_->EndPhase(now_ns, absl::OkStatus());
  rep_->phase = Span{.trace_id = rep_->run.trace_id,
                     .span_id = NewSpanId(),
                     .parent_id = rep_->run.span_id,
                     .name = std::string(name),
                     .start_ns = now_ns};
}

void RunTrace::Set(absl::string_view key, SpanValue value) {
  if (rep_ == nullptr) return;
  rep_->run.attributes.push_back({std::string(key), std::move(value)});
}

void RunTrace::End(const absl::Status& status) {
  if (rep_ == nullptr) return;
  const std::unique_ptr<Rep> rep = std::move(rep_);
  const int64_t now_ns = absl::GetCurrentTimeNanos();
  rep->EndPhase(now_ns, status);
  rep->run.end_ns = now_ns;
  if (!status.ok()) rep->run.error = status.ToString();
  rep->ended.push_back(std::move(rep->run));
  rep->tracer->Export(std::move(rep->ended));
  rep->tracer->Stop();
}

}  // namespace sortition
