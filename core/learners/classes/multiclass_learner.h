#pragma once
// `multiclass` in the frame of labelled learners: one of q classes for each
// item, by multiclass.h. An item's relevance is its class, 0 .. q - 1, q being
// one more than the largest in the data. A query is a group of items that stay
// in one part of the data; each item counts by itself.
//
// Homogeneous, as the lecture: no intercepts. For them, add a feature of 1.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

// λ is chosen by the accuracy of the most
// probable class. The objective of ONE_AGAINST_ALL and ALL_PAIRS is the mean of
// those of the binary learners, each λ/2 ‖w‖² + the mean loss of its examples,
// solved to one_slack.gap_tolerance in one_slack.max_iterations passes.
//
// It publishes softmax_selection over q candidates, one per class, with the
// multi-vector features of item and class (core/data/joint_features.h): q d
// weights, w_0, w_1, .. w_q-1.
//
// InvalidArgument if costs are not q × q or out of their range, and for options
// without meaning: costs without HINGE, a binary learner with it.
// Training returns FailedPrecondition if all items have the same class.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMulticlassLearner(
    const config::v1::MulticlassOptions& options, const LabelledShape& shape);

}  // namespace sortition
