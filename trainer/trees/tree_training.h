#pragma once
// Trains ensembles of trees from labelled queries, by XGBoost.
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "sortition/config/v1/trees.pb.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

struct TrainedTrees {
  model::v1::TreeEnsemble ensemble;
  uint32_t rounds = 0;  // That were trained; at least as many as trees.
  // Of the ensemble on the validation queries, mean over those with anything
  // relevant (core/metrics/ranking_metrics.h); 0 without validation queries.
  double validation_ndcg = 0;
};

// Trains on `train`. With validation queries and options.patience > 0 keeps the
// round with the best NDCG@10 there. The same data and options give the same
// trees. Dense features may be NaN, which is missing; what sparse rows lack is
// missing, too. InvalidArgument for bad options, infinite features, relevances
// above 31, and queries that differ in their numbers of features, or of which
// some are dense and others sparse; Unimplemented without XGBoost.
absl::StatusOr<TrainedTrees> TrainTrees(
    std::span<const LabelledItems> train,
    std::span<const LabelledItems> validation,
    const config::v1::TreeOptions& options);

}  // namespace sortition
