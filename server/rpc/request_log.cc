#include "server/rpc/request_log.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "process/log.h"
#include "server/admission/waiting_calls.h"

namespace sortition {
namespace {

// Returns what the caller sent under `key`, cut: it comes from outside.
absl::string_view Metadata(const grpc::ServerContext& context,
                           const char* key) {
  constexpr size_t kShownBytes = 128;
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "";
  return absl::string_view(found->second.data(), found->second.size())
      .substr(0, kShownBytes);
}

}  // namespace

bool RequestLog::MayWrite(uint64_t* left_out) {
  const int64_t second = MonotonicNanos() / 1'000'000'000;
  const std::lock_guard lock(mutex_);
  if (second != second_) {
    second_ = second;
    written_ = 0;
  }
  if (written_ == kMostPerSecond) {
    ++left_out_;
    return false;
  }
  ++written_;
  *left_out = std::exchange(left_out_, 0);
  return true;
}

void RequestLog::Write(const std::string& method,
                       const grpc::ServerContext& context,
                       const absl::Status& status, double seconds) {
  uint64_t left_out = 0;
  if (!MayWrite(&left_out)) return;
  Log(LogLevel::kWarning, status.ok() ? "slow request" : "request refused",
      {{"method", method},
       {"seconds", seconds},
       {"code", absl::StatusCodeToString(status.code())},
       {"reason", status.message()},
       {"request_id", Metadata(context, "x-request-id")},
       {"traceparent", Metadata(context, "traceparent")},
       {"left_out", left_out}});
}

}  // namespace sortition
