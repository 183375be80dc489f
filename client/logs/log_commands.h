#pragma once
// The subcommands of `sortition` that read logs.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

absl::Status RunLogCat(const config::v1::LogOptions& options,
                       const std::vector<std::string>& positional,
                       CommandOutput* output);
absl::Status RunLogStats(const config::v1::LogOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);
absl::Status RunLogVerify(const config::v1::LogOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output);

}  // namespace sortition
