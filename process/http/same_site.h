#pragma once
// Which requests of browsers are refused: those that a page of another site
// makes its visitors send.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "process/http/http_server.h"

namespace sortition {

// Whether the host of "host" or "host:port" is "localhost", ends with
// ".localhost", or is an address of this machine alone. Nobody else can reach a
// port there, and no DNS but that of this machine leads there.
bool IsLoopbackHost(absl::string_view host);

// Returns true if IsLoopbackHost(), or if the host is any IP address: no DNS of
// others can have led to it.
bool IsOfThisMachine(absl::string_view host);

// What a port takes.
struct SiteRules {
  // Names, as in "sortition.example.com" or "sortition.example.com:8443", that
  // are taken as Host, and after http:// or https:// as Origin.
  std::vector<std::string> hosts;
  // Nobody but this machine can reach the port.
  bool is_loopback = false;
};

// PermissionDenied if Host is a name that is not one of the rules and not one
// of this machine alone: somebody's DNS may have led a browser here by it
// (rebinding). Addresses are taken, because no DNS is asked for them. Where the
// port is not `is_loopback`, /healthz, /readyz and /metrics can be read by any
// name, and /status.json by any name without a dot. PermissionDenied, too, if
// there is an Origin that is neither the Host nor one of the rules.
// InvalidArgument if there is no Host, unless the request is of HTTP/1.0.
absl::Status CheckSameSite(const HttpRequest& request, bool is_http_1_0,
                           const SiteRules& rules);

}  // namespace sortition
