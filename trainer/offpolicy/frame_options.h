#pragma once
// The frame that the options of `train` ask for.
#include <optional>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/frames/model_frame.h"

namespace sortition {

// Returns the frame of the version to be replaced, with features learned anew
// from the columns of the log if `options.features` says which, and with other
// trees, or none, if `options.trees` says so. InvalidArgument for a file that
// is not what it must be, or parts that do not fit each other;
// FailedPrecondition where features are to be learned and the log has no
// columns. Errors of reading files and tuples.
absl::StatusOr<ModelFrame> MakeFrame(
    const config::v1::TrainOptions& options,
    const std::optional<StoredModel>& baseline);

// Reads a FeatureSpec in text form. InvalidArgument naming the file.
absl::StatusOr<model::v1::FeatureSpec> ReadFeatureSpec(const std::string& path);

// Replaces the trees of `frame` as `options.trees` says.
absl::Status SetTrees(const config::v1::TrainOptions& options,
                      model::v1::Model* frame);

// Returns options.word_vectors; empty where there are none.
absl::StatusOr<model::v1::WordVectors> ReadVectors(
    const config::v1::TrainOptions& options);

}  // namespace sortition
