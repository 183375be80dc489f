#pragma once
// sortition-trainer train: read, learn, evaluate, gate, publish. From labelled
// queries: labelled_train.h.
#include "absl/status/statusor.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Publishes if the lower bound of the improvement over the newest version in
// the store is positive, or by force; never in a dry run. Deterministic but for
// times. InvalidArgument: options or rewards out of range; FailedPrecondition:
// tuples from which nothing can be learned (none, too few, too few of the
// newest version, all rewards equal), naming what was left out and why, or
// another version was published meanwhile.
absl::StatusOr<config::v1::TrainReport> Train(
    const config::v1::TrainOptions& options);

}  // namespace sortition
