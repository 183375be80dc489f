#pragma once
// sortition-trainer ope: judges policies from a log that they did not write.
#include "absl/status/statusor.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range whatever the log has.
absl::Status ValidateOpeOptions(const config::v1::OpeOptions& options);

// Reads the log twice: the first pass fits the model of rewards and counts, the
// second judges. Memory does not depend on the number of tuples, apart from
// files of probabilities and rewards, which are held.
//
// InvalidArgument for options, files and rewards that are out of range, and for
// policies that do not fit the log; NotFound if there is no such version;
// FailedPrecondition for too few decisions, an incomplete log, or a file that
// lacks more than 1 % of the decisions.
absl::StatusOr<config::v1::OpeReport> Ope(
    const config::v1::OpeOptions& options);

}  // namespace sortition
