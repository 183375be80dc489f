#pragma once
// The subcommands of `sortition` that make queries and drive a server with
// them.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

absl::Status RunWorld(const config::v1::WorldCommandOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
absl::Status RunSimulate(const config::v1::SimulateOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);

}  // namespace sortition
