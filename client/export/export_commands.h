#pragma once
// The subcommand of `sortition` that writes logs for other tools.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/log_files.pb.h"

namespace sortition {

absl::Status RunLogExport(const config::v1::LogExportOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output);

}  // namespace sortition
