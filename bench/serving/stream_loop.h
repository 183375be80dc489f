#pragma once
// The closed loop over RankStream.
#include "bench/serving/closed_loop.h"

namespace sortition {

// As RunClosedLoop(), with one stream for each channel; each has its share of
// the requests under way. At most 64 of them wait in the server.
absl::StatusOr<ClosedLoopResult> RunStreamLoop(
    const v1::RankRequest& request, int port, const ChildProcess& server,
    const ClosedLoopOptions& options);

}  // namespace sortition
