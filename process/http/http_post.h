#pragma once
// Sends an HTTP POST to another process, with a limit of time.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/http/http_get.h"

namespace sortition {

// Posts `body` to http://`address``path` over a connection of its own, and
// returns the status code of the answer, whatever it is. `headers` are further
// lines, each with "\r\n". Errors and limits are those of HttpGet(), but for
// FailedPrecondition.
absl::StatusOr<int> HttpPost(const std::string& address, absl::string_view path,
                             absl::string_view headers, absl::string_view body,
                             const HttpGetLimits& limits);

}  // namespace sortition
