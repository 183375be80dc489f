#pragma once
// The collector that receives spans, and one export to it.
#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/tracing.pb.h"

namespace sortition {

// How an export ended.
enum class ExportOutcome {
  kSent,
  kUnreachable,  // No connection, or it broke.
  kTimeout,
  kRejected,    // The collector will not take these spans: another 4xx.
  kOverloaded,  // It may take them later: 429, 502, 503 or 504.
};

// Returns the name of the outcome in metrics and log lines, as in "timeout".
absl::string_view OutcomeName(ExportOutcome outcome);

// Returns whether the same export may succeed a moment later.
bool MayRetry(ExportOutcome outcome);

struct ExportResult {
  ExportOutcome outcome = ExportOutcome::kSent;
  std::string message = {};  // Why not; empty if sent.
};

// Where spans go.
struct Collector {
  std::string address;  // HOST:PORT
  std::string path;     // As in "/v1/traces".
  std::string headers;  // Lines that each export carries, each with "\r\n".

  // Posts `body`, an export as JSON. Returns after `time` at the latest, unless
  // the look-up of the host's name takes longer.
  ExportResult Post(const std::string& body,
                    std::chrono::milliseconds time) const;
};

// Reads tracing.endpoint, which must not be empty, and tracing.headers_file.
// InvalidArgument names the option, its value and the permitted form; errors of
// the file as ReadFile().
absl::StatusOr<Collector> FindCollector(
    const config::v1::TracingOptions& options);

// Checks the options without connecting to the collector, for --check_config.
// An empty endpoint is valid.
absl::Status ValidateTracing(const config::v1::TracingOptions& options);

}  // namespace sortition
