#pragma once
// sortition-trainer train with a learner of labelled queries: read, learn,
// compare, publish.
#include "absl/status/statusor.h"
#include "core/learners/learners.h"
#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

// Publishes where the gate (labelled_gate.h) finds the new policy better than
// the newest version in the store, or there is none, or by force; never in a
// dry run. Deterministic but for times. Requires a learner that ChooseLearner()
// gave. InvalidArgument: options or data; FailedPrecondition: data from which
// nothing can be learned, or another version was published meanwhile.
absl::StatusOr<config::v1::TrainReport> TrainLabelled(
    const config::v1::TrainOptions& options, const LearnerInfo& learner);

}  // namespace sortition
