#pragma once
// `sortition quickstart`.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/start.pb.h"

namespace sortition {

// Makes the folder, unless quickstart made it before, and runs its programs
// until Ctrl-C, SIGTERM or the end of the terminal. FailedPrecondition if they
// run already.
absl::Status RunQuickstart(const config::v1::QuickstartOptions& options,
                           const std::vector<std::string>& positional,
                           CommandOutput* output);

extern const char kQuickstartHelp[];

}  // namespace sortition
