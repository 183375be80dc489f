#pragma once
// `sortition top`.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/start.pb.h"

namespace sortition {

// Shows what server and sidecar say of themselves until q, Ctrl-C, or
// nobody sees it any more. With `once`: prints it and ends; Unavailable if one
// that is named does not answer.
absl::Status RunTop(const config::v1::TopOptions& options,
                    const std::vector<std::string>& positional,
                    CommandOutput* output);

extern const char kTopHelp[];

}  // namespace sortition
