#pragma once
// The spans of one run of a command: the run itself, and its phases.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/tracing/span.h"
#include "sortition/config/v1/tracing.pb.h"

namespace sortition {

// Records nothing, at no cost, if it was made without options or if the run is
// not traced. Not thread-safe.
class RunTrace {
 public:
  RunTrace();
  RunTrace(RunTrace&&) noexcept;
  RunTrace& operator=(RunTrace&&) noexcept;
  ~RunTrace();

  // Begins the span `name` of a run of the program `service`, unless
  // tracing.endpoint is empty. It continues the trace that the environment
  // variable TRACEPARENT names, as batch schedulers set it; if that says that
  // it is not sampled, nothing is recorded. Errors as ValidateTracing().
  static absl::StatusOr<RunTrace> Begin(
      const config::v1::TracingOptions& options, absl::string_view service,
      absl::string_view name);

  // Begins a phase, a child of the run, and ends the phase before.
  void BeginPhase(absl::string_view name);
  // Sets an attribute of the run.
  void Set(absl::string_view key, SpanValue value);
  // Ends phase and run, and sends the spans, which takes about a second at
  // most. Calls after the first do nothing.
  void End(const absl::Status& status);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;  // Null: nothing is recorded.
};

}  // namespace sortition
