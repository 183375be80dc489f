#pragma once
// How a client shows who it is, and makes sure of the server.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"

namespace sortition {

struct SecurityOptions {
  // PEM. Who may sign the server's certificate; empty: whom this machine
  // trusts, or no TLS where the next three are empty, too.
  std::string ca_file = {};
  std::string certificate_file = {};  // Shown to the server; PEM.
  std::string key_file = {};          // Its key; PEM.
  // In its certificate; empty: the host of the address.
  std::string server_name = {};
  std::string token_file = {};  // Holds the bearer token alone.
};

// What channels and calls need of them.
struct Credentials {
  std::shared_ptr<grpc::ChannelCredentials> channel;
  std::string server_name;    // Empty: the address's host.
  std::string authorization;  // Value of that metadata; empty: none.
};

// Reads the files. InvalidArgument names the option and the file.
absl::StatusOr<Credentials> ReadCredentials(const SecurityOptions& options);

}  // namespace sortition
