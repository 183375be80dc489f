#pragma once
// The frame that the options of `train` ask for.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "io/scorers/tree_columns.h"
#include "io/scorers/tree_models.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/frames/model_frame.h"

namespace sortition {

// Returns the frame of the version to be replaced, with features learned anew
// from the columns of the log if `options.features` says which, and with other
// trees, or none, if `options.trees` says so. Where it is auto, or empty for a
// first model of a log with columns, the features are drafted. InvalidArgument
// for a file that is not what it must be, or parts that do not fit each other;
// FailedPrecondition where features are to be learned and the log has no
// columns. Errors of reading files and tuples. Drafted features are at most
// `max_drafted`; 0: any number, which sparse features may need.
absl::StatusOr<ModelFrame> MakeFrame(const config::v1::TrainOptions& options,
                                     const std::optional<StoredModel>& baseline,
                                     uint64_t max_drafted = 0);

// Reads a FeatureSpec in text form. InvalidArgument naming the file.
absl::StatusOr<model::v1::FeatureSpec> ReadFeatureSpec(const std::string& path);

// FailedPrecondition if no version with these features may follow `before`.
// Called before training, so that the error comes early.
absl::Status CheckMayFollow(const model::v1::FeatureSpec& spec,
                            const model::v1::Model& before);

// Reads the model file of `options.trees`; unset: it names none.
// InvalidArgument as ReadTreeModel(), and for options that need a file.
absl::StatusOr<std::optional<TreeModelFile>> ReadTrees(
    const config::v1::TrainOptions& options);

// Puts the trees of a file into `frame`, which takes on their number of
// features if it has none, and says what was assumed of the file.
// InvalidArgument as ChooseFirstColumn().
absl::StatusOr<std::vector<config::v1::LabelledReport::Assumption>> PlaceTrees(
    const config::v1::TrainOptions& options, TreeModelFile file,
    const FeatureCount& num_features, model::v1::Model* frame);

// Returns options.word_vectors; empty where there are none.
absl::StatusOr<model::v1::WordVectors> ReadVectors(
    const config::v1::TrainOptions& options);

}  // namespace sortition
