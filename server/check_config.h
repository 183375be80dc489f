#pragma once
// --check_config of sortition-server.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// InvalidArgument where options contradict each other.
absl::Status ValidateServerOptions(const config::v1::ServerOptions& options);

// Returns what would keep Server::Start() from working, one line each, as far
// as it can be known without changing anything.
std::vector<std::string> CheckServerConfig(
    const config::v1::ServerOptions& options);

}  // namespace sortition
