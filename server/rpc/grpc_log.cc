#include "server/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "process/log.h"
#include "process/log_rate.h"

namespace sortition {
namespace {

// gRPC aborts the process after such a line.
constexpr char kFatalPrefix[] = "assertion failed";

void LogGrpcLine(gpr_log_func_args* line) {
  static LogRate error_rate(kMaxGrpcLinesPerSecond);
  static LogRate other_rate(kMaxGrpcLinesPerSecond);
  const bool is_error = line->severity == GPR_LOG_SEVERITY_ERROR;
  const bool is_fatal = absl::StartsWith(line->message, kFatalPrefix);
  uint64_t left_out = 0;
  if (!(is_error ? error_rate : other_rate).MayLog(&left_out) && !is_fatal) {
    return;
  }
  const char* const slash = std::strrchr(line->file, '/');
  // gRPC's errors concern one connection or call, which fails and is counted.
  Log(is_error ? LogLevel::kWarning : LogLevel::kInfo, "gRPC",
      {{"text", line->message},
       {"source", absl::StrCat(slash == nullptr ? line->file : slash + 1, ":",
                               line->line)},
       {"left_out", left_out}});
  if (is_fatal) FlushLog(kLogExitSeconds);
}

}  // namespace

void RouteGrpcLog() { gpr_set_log_function(&LogGrpcLine); }

}  // namespace sortition
