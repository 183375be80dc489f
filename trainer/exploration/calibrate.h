#pragma once
// sortition-trainer calibrate: finds the inverse temperature of a version, and
// shows the effect of others; for rankings also of other ways to explore.
#include "absl/status/statusor.h"
#include "sortition/config/v1/calibrate.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range whatever the log has;
// FailedPrecondition for `publish` without `force`.
absl::Status ValidateCalibrateOptions(
    const config::v1::CalibrateOptions& options);

// Rates are for the queries outside the test part. Estimates are for the test
// part, of versions from the model's parent on: older tuples may all have been
// used to train it. If no inverse temperature gives the rate of the
// deterministic rule, the report's `problem` says why, and nothing is
// published. Publishes only with both `publish` and `force`, since no gate
// compares the policies. InvalidArgument for options or rewards out of range,
// and explorations that cannot be parsed; NotFound if there is no such version;
// FailedPrecondition for too few tuples, for tuples that abstained if the model
// cannot, for `publish` without `force` or for a policy that cannot abstain,
// and for explorations of anything but scores of rankings.
absl::StatusOr<config::v1::CalibrateReport> Calibrate(
    const config::v1::CalibrateOptions& options);

}  // namespace sortition
