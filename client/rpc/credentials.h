#pragma once
// How a client shows who it is, and makes sure of the server.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
  // Send the token to other machines over plain text, too, because something
  // in between encrypts it.
  bool plaintext_tokens = false;
};

// What channels and calls need of them.
struct Credentials {
  std::shared_ptr<grpc::ChannelCredentials> channel;
  std::string server_name;    // Empty: the address's host.
  std::string authorization;  // Value of that metadata; empty: none.
};

// Reads the files for calls to servers at `addresses`. InvalidArgument names
// the option and the file, or the server to which the token would go over plain
// text although it is another machine.
absl::StatusOr<Credentials> ReadCredentials(
    const SecurityOptions& options, const std::vector<std::string>& addresses);

// Returns true if what is sent to an address of gRPC, such as "localhost:8500",
// "ipv4:127.0.0.1:8500" or "unix:/run/socket", stays on this machine.
bool StaysOnThisMachine(absl::string_view address);

}  // namespace sortition
