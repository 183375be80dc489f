#pragma once
// One HTTP request to another process and its answer, as bytes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/http/http_get.h"

namespace sortition {

// The parts of an answer; views into its bytes.
struct HttpParts {
  absl::string_view status;  // As in "200"; empty: there is none.
  absl::string_view body;
  bool is_whole = true;  // The body is as long as the head says, if it does.
};

// Connects to `address`, sends `request`, and returns the bytes of the answer,
// until its end by Content-Length or by the end of the connection. Errors as
// HttpGet().
absl::StatusOr<std::string> ExchangeHttp(const std::string& address,
                                         absl::string_view request,
                                         const HttpGetLimits& limits);

// DataLoss if `answer` is not one of HTTP/1.
absl::StatusOr<HttpParts> SplitHttpAnswer(absl::string_view answer);

// Puts the address in front of the message of an error.
absl::Status NameAddress(const std::string& address, const absl::Status& error);

}  // namespace sortition
