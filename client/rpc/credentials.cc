#include "client/rpc/credentials.h"

#include <arpa/inet.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Returns the contents; "" where `path` is.
absl::StatusOr<std::string> ReadOption(absl::string_view option,
                                       const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.good() && !text.empty()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is \"", path,
                   "\", must be a file that can be read, not empty"));
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  ASSIGN_OR_RETURN(std::string token, ReadOption("token_file", path));
  token = std::string(absl::StripAsciiWhitespace(token));
  if (std::all_of(token.begin(), token.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      })) {
    return token;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "token_file is \"", path,
      "\", must hold one token: visible ASCII characters without spaces"));
}

// Returns the host of "host", "host:port" or "[host]:port".
absl::string_view HostOf(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "[")) {
    return address.substr(0, address.find(']'));
  }
  // An IPv6 address without brackets has no port.
  const size_t colon = address.find(':');
  return colon == address.rfind(':') ? address.substr(0, colon) : address;
}

bool UsesTls(const SecurityOptions& options) {
  return !options.ca_file.empty() || !options.certificate_file.empty() ||
         !options.server_name.empty();
}

absl::Status CheckTokenStays(const SecurityOptions& options,
                             const std::vector<std::string>& addresses) {
  if (options.token_file.empty() || options.plaintext_tokens ||
      UsesTls(options)) {
    return absl::OkStatus();
  }
  for (const std::string& address : addresses) {
    if (StaysOnThisMachine(address)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "token_file is \"", options.token_file, "\" and a server is \"",
        address,
        "\": the token would be readable on the way; use a server on this "
        "machine, or ca_file or server_name (TLS), or plaintext_tokens if "
        "something in between encrypts"));
  }
  return absl::OkStatus();
}

}  // namespace

bool StaysOnThisMachine(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") ||
      absl::StartsWith(address, "unix-abstract:")) {
    return true;
  }
  if (absl::ConsumePrefix(&address, "dns:")) {
    // dns://resolver/host:port
    if (absl::StartsWith(address, "//")) {
      address.remove_prefix(2);
      address.remove_prefix(std::min(address.find('/'), address.size()));
      absl::ConsumePrefix(&address, "/");
    }
  } else if (!absl::ConsumePrefix(&address, "ipv4:")) {
    absl::ConsumePrefix(&address, "ipv6:");
  }
  for (const absl::string_view part : absl::StrSplit(address, ',')) {
    const std::string host(HostOf(part));
    in_addr ip = {};
    const bool is_local_ip = ::inet_pton(AF_INET, host.c_str(), &ip) == 1 &&
                             absl::StartsWith(host, "127.");
    if (!is_local_ip && host != "localhost" && host != "::1") return false;
  }
  return true;
}

absl::StatusOr<Credentials> ReadCredentials(
    const SecurityOptions& options, const std::vector<std::string>& addresses) {
  RETURN_IF_ERROR(CheckTokenStays(options, addresses));
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate_file is \"", options.certificate_file,
        "\", key_file is \"", options.key_file, "\", must be given together"));
  }
  grpc::SslCredentialsOptions tls;
  ASSIGN_OR_RETURN(tls.pem_root_certs, ReadOption("ca_file", options.ca_file));
  ASSIGN_OR_RETURN(tls.pem_cert_chain,
                   ReadOption("certificate_file", options.certificate_file));
  ASSIGN_OR_RETURN(tls.pem_private_key,
                   ReadOption("key_file", options.key_file));
  Credentials credentials;
  ASSIGN_OR_RETURN(const std::string token, ReadToken(options.token_file));
  if (!token.empty()) {
    credentials.authorization = absl::StrCat("Bearer ", token);
  }
  credentials.channel = UsesTls(options) ? grpc::SslCredentials(tls)
                                         : grpc::InsecureChannelCredentials();
  credentials.server_name = options.server_name;
  return credentials;
}

}  // namespace sortition
