#pragma once
// Gradient-boosted trees as a learner. The trees add to a linear score: the
// weights of ListNet [CaoEtAl07] are trained first, and boosting continues from
// their scores. The score of a candidate is w·x plus the score of the trees,
// which has weight 1.
//
// A small grid of objective, depth and learning rate is trained; an option that
// is set holds for all points of the grid. The validation queries' mean NDCG@10
// stops each point early and chooses the point. The first point has the linear
// weights alone. It is kept unless a point with trees is better by one standard
// error of the difference, paired over the validation queries: the learner
// falls back to the linear weights if trees do not help. With
// options.from_linear = false there is no such point, and the weights of all
// features are 0.
//
// On small data, a choice between trees and linear weights by validation alone
// is noisy and often prefers worse trees (bench/papers/letor). Trees that start
// from the linear scores only learn what these lack, and an early stop keeps
// the result near the linear scores.
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

// Returns the options of the points with trees for `num_queries` training
// queries: the points of the grid, from shallow to deep trees, overridden by
// the values that `options` sets, without duplicates. The grid is smaller for
// few queries, because deep trees overfit them, and a long grid overfits their
// validation queries.
std::vector<config::v1::TreeOptions> TreeGrid(
    const config::v1::TreeOptions& options, size_t num_queries);

// Returns the largest number of points of TreeGrid().
size_t TreeGridSize(const config::v1::TreeOptions& options);

}  // namespace internal

}  // namespace sortition
