#pragma once
// Gradient-boosted trees as a learner. The trees add to a linear score: the
// weights of ListNet [CaoEtAl07] are trained first, and boosting continues from
// their scores. So the score of a candidate is w·x plus the score of the trees,
// whose weight is 1.
//
// A small grid of objective, depth and learning rate is trained; an option that
// is set holds for all points of the grid. The validation queries' mean NDCG@10
// stops each point early and chooses the point. The first point has the linear
// weights alone. It is kept unless a point with trees is better by one standard
// error of the difference, paired over the validation queries, so that trees
// fall back to the linear learner where they do not help. With
// options.from_linear = false the weights of all features are 0 and there is no
// such point.
//
// On small data a choice between trees and linear weights by validation alone
// is noisy: it prefers trees that are worse (bench/papers/letor). Trees that
// start from the linear scores only have to learn what these lack, and an early
// stop keeps the result near the linear scores.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/trees.pb.h"

namespace sortition {

// Train() is Unimplemented without LabelledTask.train_trees, and otherwise has
// its errors and those of ListNet. InvalidArgument as OrderMeasure().
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeTreeLearner(
    const config::v1::TreeOptions& options, const LabelledShape& shape);

namespace internal {

// Returns the options of the points with trees for so many training queries:
// those of the grid, from few and shallow splits to many, with the values that
// `options` sets, each combination once. Few queries get a smaller grid, since
// deep trees overfit them and a long grid overfits their validation queries.
std::vector<config::v1::TreeOptions> TreeGrid(
    const config::v1::TreeOptions& options, size_t num_queries);

// Returns the largest number of points of TreeGrid().
size_t TreeGridSize(const config::v1::TreeOptions& options);

}  // namespace internal

}  // namespace sortition
