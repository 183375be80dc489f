#include "client/rpc/credentials.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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

}  // namespace

absl::StatusOr<Credentials> ReadCredentials(const SecurityOptions& options) {
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
  const bool is_plain = options.ca_file.empty() &&
                        options.certificate_file.empty() &&
                        options.server_name.empty();
  credentials.channel =
      is_plain ? grpc::InsecureChannelCredentials() : grpc::SslCredentials(tls);
  credentials.server_name = options.server_name;
  return credentials;
}

}  // namespace sortition
