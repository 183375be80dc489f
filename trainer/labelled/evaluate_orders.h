#pragma once
// sortition-trainer evaluate: how good orders of labelled queries are, by the
// metrics of order_metrics.h.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

// Orders the queries by a model's scores, or by those of a file, and writes
// options.per_query where that is set. InvalidArgument names the option, or the
// file and line, that is wrong; NotFound where there is no such model.
absl::StatusOr<config::v1::EvaluateReport> EvaluateOrders(
    const config::v1::EvaluateOptions& options);

std::string FormatOrderReport(const config::v1::EvaluateReport& report);

}  // namespace sortition
