#pragma once
// sortition-trainer cluster: finds which sources, lists or queries of a log
// order candidates alike.
#include "absl/status/statusor.h"
#include "sortition/config/v1/cluster.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range whatever the log has.
absl::Status ValidateClusterOptions(const config::v1::ClusterOptions& options);

// Writes the picture and the assignments if they are asked for; the caller
// writes the report. The result depends only on the set of tuples and the
// options. InvalidArgument for options out of range; NotFound if there is no
// such directory; FailedPrecondition if the log has fewer than 2 vectors to
// group.
absl::StatusOr<config::v1::ClusterReport> ClusterTuples(
    const config::v1::ClusterOptions& options);

}  // namespace sortition
