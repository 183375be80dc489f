#pragma once
// sortition-trainer train with a learner of labelled queries: read, learn,
// compare, publish.
#include "absl/status/statusor.h"
#include "core/learners/learners.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Publishes if the gate (labelled_gate.h) finds the new policy better than the
// newest version in the store, if there is none, or by force; never in a dry
// run. Deterministic except for times. Requires a learner that ChooseLearner()
// gave. InvalidArgument: options or data; FailedPrecondition: data from which
// nothing can be learned, or another version was published meanwhile.
absl::StatusOr<config::v1::TrainReport> TrainLabelled(
    const config::v1::TrainOptions& options, const LearnerInfo& learner);

}  // namespace sortition
