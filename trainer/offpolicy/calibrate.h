#pragma once
// sortition-trainer calibrate: the inverse temperature of a version, and the
// effect of others.
#include "absl/status/statusor.h"
#include "sortition/config/v1/calibrate.pb.h"

namespace sortition {

// Rates are those of the queries that are not in the test part; estimates are
// of the test part, of versions from the model's parent on: older tuples may
// all have trained it. Where no inverse temperature gives the rate of the
// deterministic rule, the report's `problem` says why, and nothing is
// published. Publishes with `publish` and `force` only: no gate compares.
// InvalidArgument: options or rewards out of range; NotFound: no such version;
// FailedPrecondition: too few tuples, some that abstained where the model
// cannot, or `publish` without `force` or for a policy that cannot abstain.
absl::StatusOr<config::v1::CalibrateReport> Calibrate(
    const config::v1::CalibrateOptions& options);

}  // namespace sortition
