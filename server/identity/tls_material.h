#pragma once
// Certificates and keys of the server, as files hold them.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

struct TlsMaterial {
  std::string certificate_chain;  // PEM; so are the next two.
  std::string key;
  std::string client_ca;       // Empty: clients need no certificate.
  int64_t expires_time_s = 0;  // Of the server's certificate, since the epoch.
};

// Reads the files. InvalidArgument names the option and what is wrong: a file
// that is missing, is not PEM, or a key that is not that of the certificate.
absl::StatusOr<TlsMaterial> ReadTlsMaterial(
    const config::v1::TlsOptions& options);

}  // namespace sortition
