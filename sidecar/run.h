#pragma once
// The sidecar as a process.
#include <functional>

#include "absl/status/status.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// Runs until `ask_for_stop`, which waits at most that many seconds, returns
// true; then takes what is in the spool, closes the output and returns OK.
absl::Status RunSidecar(const config::v1::SidecarOptions& options,
                        const std::function<bool(double)>& ask_for_stop);

}  // namespace sortition
