#pragma once
// The subcommands of `sortition` that look after logs.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/upkeep.pb.h"

namespace sortition {

absl::Status RunLogPrune(const config::v1::LogPruneOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);
// Exits with kExitNotYet if something is left to be erased.
absl::Status RunLogErase(const config::v1::LogEraseOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);
absl::Status RunLogCompact(const config::v1::LogCompactOptions& options,
                           const std::vector<std::string>& positional,
                           CommandOutput* output);

}  // namespace sortition
