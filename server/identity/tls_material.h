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
  std::string client_ca;  // Empty: clients need no certificate.
  // The first end of a certificate of the chain, seconds since the epoch.
  int64_t expires_time_s = 0;
};

// Reads the files and makes sure that gRPC can serve with them, by a handshake
// in memory: gRPC itself reports nothing and keeps what it had. InvalidArgument
// names the option and what is wrong: a file that is missing or is not PEM in
// all its parts, a key that is not that of the certificate, keys or signatures
// that OpenSSL refuses as too weak.
absl::StatusOr<TlsMaterial> ReadTlsMaterial(
    const config::v1::TlsOptions& options);

}  // namespace sortition
