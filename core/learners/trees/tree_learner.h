#pragma once
// Gradient-boosted trees as a learner: the weight of their score is 1, those of
// all features are 0. Validation queries stop the training early and choose the
// temperature; there is no lambda.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/trees.pb.h"

namespace sortition {

// Train() is Unimplemented without LabelledTask.train_trees, and otherwise has
// its errors. InvalidArgument as OrderMeasure().
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeTreeLearner(
    const config::v1::TreeOptions& options, const LabelledShape& shape);

}  // namespace sortition
