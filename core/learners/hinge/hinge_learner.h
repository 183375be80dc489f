#pragma once
// `hinge` in the frame of labelled learners: structured hinges of linear scores
// (seed 001, sec. 17.2 to 17.5; structured_hinge.h), for a grid of λ.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"

namespace sortition {

// `options` is a HingeOptions. InvalidArgument where they contradict each
// other. λ is chosen and policies are compared, and which there are:
//  - NDCG, KENDALL: by graded DCG@10; rank, select;
//  - SELECTION: by the relevance over the largest there is; select, rank;
//  - SENSITIVITY_SPECIFICITY: by F1, F_BETA: by F-beta; subset. Both need a
//    constant feature, whose weight, negated, is the threshold;
//  - PRECISION: by precision at k; subsets of k, rank.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeHingeLearner(
    const google::protobuf::Message& options, const LabelledShape& shape);

}  // namespace sortition
