#pragma once
// One tree of a model that XGBoost saved.
#include <cstddef>

#include "absl/status/statusor.h"
#include "io/scorers/document_value.h"
#include "io/scorers/tree_budget.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// `weight` multiplies the leaves, in float (DART). Takes what the tree has from
// `budget`. Nodes that the root does not reach, which pruning leaves behind,
// are left out. InvalidArgument names a field and its byte.
absl::StatusOr<model::v1::Tree> ConvertXgboostTree(const DocumentField& tree,
                                                   size_t num_features,
                                                   float weight,
                                                   TreeBudget* budget);

}  // namespace sortition
