#pragma once
// Connects to a server as a subcommand's flags say.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/rpc/client.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const config::v1::ClientOptions& options);

// Returns the status with the server's address in its message.
absl::Status AtServer(const config::v1::ClientOptions& options,
                      const absl::Status& status);

}  // namespace sortition
