#pragma once
// Errors as HTTP answers.
#include "absl/status/status.h"
#include "process/http/http_server.h"

namespace sortition {

// Returns the HTTP status code of `code`, as grpc-gateway maps it.
int HttpCode(absl::StatusCode code);

// Longest message of an error, bytes: it may contain a part of the request,
// which may be large.
inline constexpr size_t kMaxErrorBytes = 4096;

// Returns the answer whose body is {"code":"NOT_FOUND","message":"…"}. The
// message is cut to kMaxErrorBytes.
HttpAnswer ErrorAnswer(const absl::Status& status);

// As above, where HTTP has a code of its own for it, such as 413.
HttpAnswer ErrorAnswer(int http_code, const absl::Status& status);

// Returns `text` as a JSON string, in quotes. Bytes that are not ASCII become
// '?' unless all of it is UTF-8.
std::string JsonString(absl::string_view text);

}  // namespace sortition
