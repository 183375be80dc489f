#pragma once
// Linear regression of the relevance on the features, candidate by candidate:
//   min_{w,b}  Σ_i (w·x_i + b - relevance_i)² + l2 ‖w‖²,  b not penalised.
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"

namespace sortition {

struct RegressionResult {
  std::vector<double> weights;
  double intercept = 0;
};

// Solved by core/optim/ridge.h. Deterministic. InvalidArgument for the reasons
// of CheckQueries(), and if l2 is not finite and at least 0.
absl::StatusOr<RegressionResult> FitRelevance(
    std::span<const LabelledItems> queries, double l2);

}  // namespace sortition
