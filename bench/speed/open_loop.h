#pragma once
// An open-loop load generator: requests leave at random times, whether or not
// earlier ones were answered.
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

struct OpenLoopOptions {
  int channels = 4;
  double requests_per_second = 1000;  // Arrivals are a Poisson process.
  double warmup_seconds = 0.5;
  double seconds = 2;
};

// Sends `request` to 127.0.0.1:port and returns the latencies of the measured
// window, ascending, in milliseconds. Each runs from the time at which the
// request should have left, so that a generator that is late hides nothing.
// Unavailable if a request fails.
absl::StatusOr<std::vector<double>> RunOpenLoop(const v1::RankRequest& request,
                                                int port,
                                                const OpenLoopOptions& options);

}  // namespace sortition
