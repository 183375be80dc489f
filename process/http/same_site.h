#pragma once
// Which requests of browsers are refused: those that a page of another site
// makes its visitors send.
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "process/http/http_server.h"

namespace sortition {

// Whether the host of "host" or "host:port" is "localhost", ends with
// ".localhost", or is an address of this machine alone.
bool IsLoopbackHost(absl::string_view host);

// PermissionDenied if the request has an Origin that is not its Host. Where
// `is_loopback`, the port can only be reached by names of this machine, so that
// a Host of another name was led here by somebody's DNS (rebinding):
// PermissionDenied, too. InvalidArgument if there is no Host, unless the
// request is of HTTP/1.0.
absl::Status CheckSameSite(const HttpRequest& request, bool is_http_1_0,
                           bool is_loopback);

}  // namespace sortition
