#pragma once
// sortition-trainer evaluate: computes metrics of rankings of labelled queries
// (order_metrics.h), of TREC runs (trec_orders.h) and of label models
// (label_figures.h).
#include "absl/status/statusor.h"
#include "sortition/config/v1/evaluate.pb.h"

namespace sortition {

// Usage error that names all options that are missing or contradict each other.
absl::Status ValidateEvaluateOptions(
    const config::v1::EvaluateOptions& options);

// Ranks the candidates by the scores of a model or a file, or judges a TREC
// run, and writes options.per_query if it is set. InvalidArgument names the
// wrong option, or the file and line; NotFound if there is no such model.
absl::StatusOr<config::v1::EvaluateReport> EvaluateOrders(
    const config::v1::EvaluateOptions& options);

}  // namespace sortition
