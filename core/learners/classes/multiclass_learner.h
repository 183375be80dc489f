#pragma once
// `multiclass` in the frame of labelled learners: one of q classes for each
// item, trained by multiclass.h. An item's relevance is its class, 0 .. q - 1,
// where q is one more than the largest class in the data. The items of a query
// stay together in one part of the data, but each counts by itself.
//
// There are no intercepts, as in the lecture. To have them, add a feature of 1.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

// Chooses λ by the accuracy of the most probable class. The objective of
// ONE_AGAINST_ALL and ALL_PAIRS is the mean of those of the binary learners.
// Each of these is λ/2 ‖w‖² plus the mean loss of its examples, and is solved
// to one_slack.gap_tolerance in at most one_slack.max_iterations passes.
//
// Publishes softmax_selection over q candidates, one per class, with the
// multi-vector features of item and class (core/data/joint_features.h). It has
// q d weights: w_0, w_1, .. w_q-1.
//
// InvalidArgument if costs are not q × q or out of their range, or if an option
// has no meaning: costs without HINGE, or a binary learner with it. Training
// returns FailedPrecondition if all items have the same class.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMulticlassLearner(
    const config::v1::MulticlassOptions& options, const LabelledShape& shape);

}  // namespace sortition
