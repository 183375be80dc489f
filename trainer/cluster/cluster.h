#pragma once
// sortition-trainer cluster: finds which sources, lists or queries of a log
// order candidates alike.
#include "absl/status/statusor.h"
#include "sortition/config/v1/cluster.pb.h"

namespace sortition {

// Writes the picture and the assignments where they are asked for; the caller
// writes the report. A function of the set of tuples and the options.
// InvalidArgument for options out of range; NotFound without the directory;
// FailedPrecondition where the log has fewer than 2 vectors to group.
absl::StatusOr<config::v1::ClusterReport> ClusterTuples(
    const config::v1::ClusterOptions& options);

}  // namespace sortition
