#pragma once
// Trees that a library outside of core trains from labelled queries.
#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "sortition/config/v1/trees.pb.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Initial scores of all candidates, query after query, to which trees add
// theirs. Empty: 0.
struct TreeStart {
  std::span<const float> train;
  std::span<const float> validation;
};

struct TrainedTrees {
  model::v1::TreeEnsemble ensemble;  // May be empty if there is a start.
  uint32_t rounds = 0;  // Trained rounds; at least the number of trees.
  // NDCG of start and ensemble: mean over the validation queries with anything
  // relevant (core/metrics/ranking_metrics.h); 0 without validation queries.
  double validation_ndcg = 0;
};

using TreeTrainer = std::function<absl::StatusOr<TrainedTrees>(
    std::span<const LabelledItems> train,
    std::span<const LabelledItems> validation,
    const config::v1::TreeOptions& options, const TreeStart& start)>;

}  // namespace sortition
