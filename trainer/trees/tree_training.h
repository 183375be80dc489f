#pragma once
// Trains ensembles of trees from labelled queries, by XGBoost.
#include <span>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/learners/labelled/trained_trees.h"
#include "sortition/config/v1/trees.pb.h"

namespace sortition {

// Trains on `train`. With validation queries and options.patience > 0 keeps the
// round with the best NDCG@10 there, in expectation over random orders of equal
// scores. The same data and options give the same trees, in whatever order the
// data list queries and candidates. With a start, the trees add to its scores,
// and no tree is kept if none improves the validation queries. Unset options
// default to RANK_NDCG, depth 4, rate 0.05 and subsample 1. NaN in dense rows
// and absent features of sparse rows are missing values.
// InvalidArgument for bad options, infinite features, relevances above 31, and
// queries that differ in their numbers of features, or of which some are dense
// and others sparse; Unimplemented without XGBoost.
absl::StatusOr<TrainedTrees> TrainTrees(
    std::span<const LabelledItems> train,
    std::span<const LabelledItems> validation,
    const config::v1::TreeOptions& options, const TreeStart& start = {});

}  // namespace sortition
