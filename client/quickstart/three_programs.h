#pragma once
// Server, sidecar and training of a quickstart, until somebody says to stop.
#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace sortition {

struct ThreeProgramsOptions {
  std::string dir;       // The folder, absolute.
  std::string programs;  // As in QuickstartOptions.
  double train_every_seconds = 0;
};

// Starts server and sidecar of the folder, one after the other is there, says
// where they are and what to do next, and trains on schedule. Ends when
// `wait_for_stop` (process/shutdown.h) says so: training, then the server,
// which drains, then the sidecar. Aborted, with the last line of its log, if
// one of the two ends by itself; the others are ended then.
absl::Status RunThreePrograms(const ThreeProgramsOptions& options,
                              const std::function<bool(double)>& wait_for_stop,
                              std::ostream* out);

}  // namespace sortition
