#pragma once
// The subcommands of `sortition models`.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/models.pb.h"

namespace sortition {

absl::Status RunModelsList(const config::v1::ModelsOptions& options,
                           const std::vector<std::string>& positional,
                           CommandOutput* output);
absl::Status RunModelsDescribe(const config::v1::ModelsOptions& options,
                               const std::vector<std::string>& positional,
                               CommandOutput* output);
absl::Status RunModelsReload(const config::v1::ModelsOptions& options,
                             const std::vector<std::string>& positional,
                             CommandOutput* output);

// Returns the commands that change what serves.
std::vector<Command> ServingChangeCommands();

}  // namespace sortition
