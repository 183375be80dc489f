#pragma once
// --check_config of sortition-sidecar.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// InvalidArgument where options contradict each other.
absl::Status ValidateSidecarOptions(const config::v1::SidecarOptions& options);

// Returns what would keep RunSidecar() from working, one line each, as far as
// it can be known without changing anything. Brokers are not asked.
std::vector<std::string> CheckSidecarConfig(
    const config::v1::SidecarOptions& options);

}  // namespace sortition
