#pragma once
// What `calibrate` works on: a version, another one to tell it from, tuples.
#include <optional>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/calibrate.pb.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {

// Returns the version to calibrate. NotFound if there is none;
// FailedPrecondition for policies and uses that `calibrate` cannot do;
// InvalidArgument for explorations that cannot be parsed.
absl::StatusOr<StoredModel> LoadCalibrated(
    const config::v1::CalibrateOptions& options, const ModelStore& store);

// Returns the version `against`; nothing if that is 0. InvalidArgument if it is
// the calibrated one; FailedPrecondition if it does not rank, or if its weights
// multiply something else.
absl::StatusOr<std::optional<StoredModel>> LoadAgainst(
    const config::v1::CalibrateOptions& options, const ModelStore& store,
    const model::v1::Model& calibrated);

// FailedPrecondition for too few tuples, and for tuples that abstained if the
// model cannot.
absl::StatusOr<TupleData> ReadCalibrationData(
    const config::v1::CalibrateOptions& options, const model::v1::Model& model);

}  // namespace sortition
