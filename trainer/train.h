#pragma once
// sortition-trainer train: reads, learns, evaluates, asks the gate, publishes.
// For labelled queries see labelled_train.h.
#include "absl/status/statusor.h"
#include "process/tracing/run_trace.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Publishes if the lower bound of the improvement over the baseline is positive
// (gate.h), or by force; never in a dry run. Deterministic except
// for times. InvalidArgument for options or rewards out of range;
// FailedPrecondition if nothing can be learned from the tuples (none, too few,
// too few of the newest version, all rewards equal), naming what was left out
// and why, or if another version was published meanwhile. `trace` gets the
// phases read, fit, validate (not for labelled queries, whose learners do it as
// they fit), gate and publish; null: nothing is traced.
absl::StatusOr<config::v1::TrainReport> Train(
    const config::v1::TrainOptions& options, RunTrace* trace = nullptr);

}  // namespace sortition
