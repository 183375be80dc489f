#include "process/http/same_site.h"

#include <arpa/inet.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sortition {

bool IsLoopbackHost(absl::string_view host) {
  std::string name = absl::AsciiStrToLower(host);
  if (absl::StartsWith(name, "[")) {
    return absl::StartsWith(name, "[::1]");
  }
  name = name.substr(0, name.find(':'));
  in_addr address = {};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) {
    return absl::StartsWith(name, "127.");
  }
  return name == "localhost" || absl::EndsWith(name, ".localhost");
}

absl::Status CheckSameSite(const HttpRequest& request, bool is_http_1_0,
                           bool is_loopback) {
  const std::string host = request.header("Host");
  if (host.empty()) {
    if (is_http_1_0) return absl::OkStatus();
    return absl::InvalidArgumentError("header \"Host\": missing");
  }
  if (is_loopback && !IsLoopbackHost(host)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "header \"Host\" is \"", host,
        "\": must be a name or an address of this machine alone, as is that "
        "where this port listens"));
  }
  const std::string origin = request.header("Origin");
  // Behind something that encrypts, the browser says https.
  if (origin.empty() ||
      absl::EqualsIgnoreCase(origin, absl::StrCat("http://", host)) ||
      absl::EqualsIgnoreCase(origin, absl::StrCat("https://", host))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("header \"Origin\" is \"", origin,
                   "\": pages of other sites may not ask \"", host, "\""));
}

}  // namespace sortition
