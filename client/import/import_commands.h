#pragma once
// The subcommand of `sortition` that reads logs of other systems.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/log_files.pb.h"

namespace sortition {

absl::Status RunLogImport(const config::v1::LogImportOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output);

}  // namespace sortition
