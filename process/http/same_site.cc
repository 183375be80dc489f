#include "process/http/same_site.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sortition {
namespace {

// Returns the host of "host" or "host:port" in lower case, without the brackets
// of an IPv6 address.
std::string HostOf(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) {
    return absl::AsciiStrToLower(host.substr(0, host.find(']')));
  }
  return absl::AsciiStrToLower(host.substr(0, host.find(':')));
}

bool IsAddress(const std::string& host) {
  in6_addr address = {};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Returns true if programs on other machines read the page by this name of this
// machine. The status holds log lines and reasons of changes, so the name must
// be one that only a resolver inside the network knows, as in "sidecar:8504":
// it has no dot, and no DNS of others can lead to it.
bool TakesForPrograms(absl::string_view path, const std::string& host) {
  return path == "/healthz" || path == "/livez" || path == "/readyz" ||
         path == "/metrics" ||
         (path == "/status.json" && !absl::StrContains(host, '.'));
}

bool TakesHost(const SiteRules& rules, absl::string_view path,
               const std::string& text) {
  const std::string host = HostOf(text);
  return IsOfThisMachine(text) ||
         (!rules.is_loopback && TakesForPrograms(path, host)) ||
         std::any_of(rules.hosts.begin(), rules.hosts.end(),
                     [&](const std::string& name) {
                       return absl::EqualsIgnoreCase(name, text) ||
                              absl::EqualsIgnoreCase(name, host);
                     });
}

bool TakesOrigin(const SiteRules& rules, const std::string& origin,
                 const std::string& host) {
  absl::string_view site = origin;
  // Behind something that encrypts, the browser says https.
  if (!absl::ConsumePrefix(&site, "http://") &&
      !absl::ConsumePrefix(&site, "https://")) {
    return false;
  }
  return absl::EqualsIgnoreCase(site, host) ||
         std::any_of(rules.hosts.begin(), rules.hosts.end(),
                     [&](const std::string& name) {
                       return absl::EqualsIgnoreCase(name, site);
                     });
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  const std::string name = HostOf(host);
  in_addr address = {};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) {
    return absl::StartsWith(name, "127.");
  }
  return name == "localhost" || absl::EndsWith(name, ".localhost") ||
         name == "::1";
}

bool IsOfThisMachine(absl::string_view host) {
  return IsLoopbackHost(host) || IsAddress(HostOf(host));
}

absl::Status CheckSameSite(const HttpRequest& request, bool is_http_1_0,
                           const SiteRules& rules) {
  const std::string host = request.header("Host");
  if (host.empty()) {
    if (is_http_1_0) return absl::OkStatus();
    return absl::InvalidArgumentError("header \"Host\": missing");
  }
  if (!TakesHost(rules, request.path, host)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "header \"Host\" is \"", host,
        "\": must be an IP address, localhost, or one of http.hosts"));
  }
  const std::string origin = request.header("Origin");
  if (origin.empty() || TakesOrigin(rules, origin, host)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "header \"Origin\" is \"", origin, "\": must be the site of \"", host,
      "\" or of one of http.hosts; pages of other sites may not ask"));
}

}  // namespace sortition
