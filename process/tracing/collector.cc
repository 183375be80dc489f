#include "process/tracing/collector.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "process/http/http_post.h"

namespace sortition {
namespace {

constexpr char kForm[] =
    "must be http://HOST:PORT, perhaps with a path, such as "
    "http://127.0.0.1:4318; for a collector that wants https or gRPC, run an "
    "OpenTelemetry Collector beside this program that passes spans on";

bool IsVisible(char c) { return c > ' ' && c < 0x7f; }

bool AreVisible(absl::string_view text) {
  for (const char c : text) {
    if (!IsVisible(c)) return false;
  }
  return true;
}

// Returns whether `address` is HOST:PORT with a port in [1, 65535].
bool IsAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  uint32_t port = 0;
  return absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 1 &&
         port <= 65535 &&
         address.find_first_of("@?#") == absl::string_view::npos;
}

// Returns whether the exporter sets this header itself.
bool IsReserved(absl::string_view name) {
  for (const char* const own :
       {"host", "connection", "content-type", "content-length",
        "content-encoding", "transfer-encoding"}) {
    if (absl::EqualsIgnoreCase(name, own)) return true;
  }
  return false;
}

// Returns the lines of the file as headers. The message never has a value,
// which may be a key.
absl::StatusOr<std::string> ReadHeaders(const std::string& path) {
  if (path.empty()) return "";
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::string headers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    bool is_good = !field.first.empty() && AreVisible(field.first) &&
                   !value.empty() && !IsReserved(field.first);
    for (const char c : value) is_good &= IsVisible(c) || c == ' ';
    if (!is_good) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tracing.headers_file = \"", path, "\": line ", number,
          " must be NAME: VALUE, in printable ASCII, and no header that the "
          "export itself has, such as Host and Content-Type"));
    }
    absl::StrAppend(&headers, field.first, ": ", value, "\r\n");
  }
  return headers;
}

ExportResult ResultOf(int code) {
  constexpr int kTooManyRequests = 429;
  if (code / 100 == 2) return {};
  const bool is_later =
      code == kTooManyRequests || code == 502 || code == 503 || code == 504;
  return {is_later ? ExportOutcome::kOverloaded : ExportOutcome::kRejected,
          absl::StrCat("the collector answered with status ", code)};
}

}  // namespace

absl::string_view OutcomeName(ExportOutcome outcome) {
  switch (outcome) {
    case ExportOutcome::kSent:
      return "sent";
    case ExportOutcome::kUnreachable:
      return "unreachable";
    case ExportOutcome::kTimeout:
      return "timeout";
    case ExportOutcome::kRejected:
      return "rejected";
    case ExportOutcome::kOverloaded:
      return "overloaded";
  }
  return "unknown";
}

bool MayRetry(ExportOutcome outcome) {
  return outcome == ExportOutcome::kUnreachable ||
         outcome == ExportOutcome::kOverloaded;
}

ExportResult Collector::Post(const std::string& body,
                             std::chrono::milliseconds time) const {
  constexpr size_t kMaxAnswerBytes = 64 << 10;
  const absl::StatusOr<int> code =
      HttpPost(address, path,
               absl::StrCat(headers, "Content-Type: application/json\r\n"),
               body, {.time = time, .bytes = kMaxAnswerBytes});
  if (code.ok()) return ResultOf(*code);
  return {absl::IsDeadlineExceeded(code.status()) ? ExportOutcome::kTimeout
                                                  : ExportOutcome::kUnreachable,
          std::string(code.status().message())};
}

absl::StatusOr<Collector> FindCollector(
    const config::v1::TracingOptions& options) {
  absl::string_view rest = options.endpoint();
  const bool is_http = absl::ConsumePrefix(&rest, "http://");
  const size_t slash = rest.find('/');
  Collector collector;
  collector.address = std::string(rest.substr(0, slash));
  if (!is_http || !AreVisible(rest) || !IsAddress(collector.address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tracing.endpoint = \"", options.endpoint(), "\": ", kForm));
  }
  absl::string_view prefix =
      slash == absl::string_view::npos ? "" : rest.substr(slash);
  while (absl::ConsumeSuffix(&prefix, "/")) continue;
  collector.path = absl::StrCat(prefix, "/v1/traces");
  ASSIGN_OR_RETURN(collector.headers, ReadHeaders(options.headers_file()));
  return collector;
}

absl::Status ValidateTracing(const config::v1::TracingOptions& options) {
  if (!options.endpoint().empty()) return FindCollector(options).status();
  if (!options.headers_file().empty() || options.sample_rate() > 0) {
    return absl::InvalidArgumentError(
        "tracing.endpoint = \"\": must be set if tracing.sample_rate or "
        "tracing.headers_file is");
  }
  return absl::OkStatus();
}

}  // namespace sortition
