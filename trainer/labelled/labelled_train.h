#pragma once
// sortition-trainer train with a learner of labelled queries: reads, learns,
// compares, publishes.
#include "absl/status/statusor.h"
#include "core/learners/learners.h"
#include "process/tracing/run_trace.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range, or that go only with
// tuples. Requires a learner of labelled queries.
absl::Status ValidateLabelledTraining(const config::v1::TrainOptions& options);

// Publishes if the gate (labelled_gate.h) finds the new policy better than the
// newest version in the store, if there is no version, or by force; never in a
// dry run. Deterministic except for times. Requires a learner from
// ChooseLearner(). InvalidArgument for wrong options or data;
// FailedPrecondition if nothing can be learned from the data, or if another
// version was published meanwhile. `trace` gets the phases read, fit, gate and
// publish.
absl::StatusOr<config::v1::TrainReport> TrainLabelled(
    const config::v1::TrainOptions& options, const LearnerInfo& learner,
    RunTrace* trace);

}  // namespace sortition
