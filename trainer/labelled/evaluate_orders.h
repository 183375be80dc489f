#pragma once
// sortition-trainer evaluate: computes metrics of rankings of labelled queries
// (order_metrics.h).
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/evaluate.pb.h"

namespace sortition {

// InvalidArgument for options that contradict each other or are out of range.
absl::Status ValidateEvaluateOptions(
    const config::v1::EvaluateOptions& options);

// Ranks the candidates by the scores of a model or a file, and writes
// options.per_query if it is set. InvalidArgument names the wrong option, or
// the file and line; NotFound if there is no such model.
absl::StatusOr<config::v1::EvaluateReport> EvaluateOrders(
    const config::v1::EvaluateOptions& options);

std::string FormatOrderReport(const config::v1::EvaluateReport& report);

}  // namespace sortition
