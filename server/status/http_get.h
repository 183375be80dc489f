#pragma once
// Asks another process for a page, and waits for nobody for long.
#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct HttpGetLimits {
  std::chrono::milliseconds time{1000};  // Until the whole answer is there.
  size_t bytes = 1 << 20;                // Of the answer.
};

// Returns the body of http://`address``path`; `address` is host:port. Sends
// HTTP/1.0, so that answers are not chunked. InvalidArgument: not an address;
// Unavailable: nobody is there; DeadlineExceeded, ResourceExhausted: the
// limits; DataLoss: the answer is not one of HTTP, or ends too early;
// FailedPrecondition: its status is not 200. To look up the name of a host may
// take longer.
absl::StatusOr<std::string> HttpGet(const std::string& address,
                                    absl::string_view path,
                                    const HttpGetLimits& limits = {});

}  // namespace sortition
