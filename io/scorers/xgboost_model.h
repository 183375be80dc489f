#pragma once
// A model that XGBoost saved.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/scorers/document_value.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// All rounds count, also those after the best one of early stopping, as in the
// library's own predictions. Errors as ParseTreeModel().
absl::StatusOr<model::v1::TreeEnsemble> ConvertXgboostModel(
    const DocumentValue& document);

// InvalidArgument: what dump_model wrote is not a model.
absl::Status XgboostDumpError();

}  // namespace sortition
