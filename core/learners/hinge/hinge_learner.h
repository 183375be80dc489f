#pragma once
// `hinge` in the frame of labelled learners: structured hinges of linear scores
// (seed 001, sec. 17.2 to 17.5; structured_hinge.h), for a grid of λ.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/hinge.pb.h"

namespace sortition {

// InvalidArgument if options contradict each other. Each loss has a measure
// that chooses λ and compares policies, and actions that have policies:
//  - NDCG, KENDALL: graded DCG@10; rank, select;
//  - SELECTION: relevance divided by the largest in the data; select, rank;
//  - SENSITIVITY_SPECIFICITY: F1, and F_BETA: F-beta; subset. Both need a
//    constant feature, whose weight, negated, is the threshold;
//  - PRECISION: precision at k; subsets of k, rank.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeHingeLearner(
    const config::v1::HingeOptions& options, const LabelledShape& shape);

}  // namespace sortition
