#pragma once
// Asks another process for a page, such as its metrics, and waits for nobody
// for long.
#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct HttpGetLimits {
  std::chrono::milliseconds time;  // Until the whole answer is there.
  size_t bytes;                    // Of the answer, its headers included.
};

// Returns the body of http://`address``path`; `address` is HOST:PORT, or
// [HOST]:PORT for IPv6. Sends HTTP/1.0, so that answers are not chunked, and
// follows no redirection. Errors name the address. InvalidArgument: it is none;
// Unavailable: nobody is there; DeadlineExceeded, ResourceExhausted: the
// limits; DataLoss: the answer is not one of HTTP, or ends too early;
// FailedPrecondition: its status is not 200. To look up the name of a host may
// take longer.
absl::StatusOr<std::string> HttpGet(const std::string& address,
                                    absl::string_view path,
                                    const HttpGetLimits& limits);

}  // namespace sortition
