#pragma once
// The expressions of the dashboards of deploy/grafana.
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct DashboardExpression {
  std::string dashboard;   // "serving"
  std::string panel;       // Its title.
  std::string expression;  // Without variables.
};

// Variables stand for everything, ranges are a few seconds long.
absl::StatusOr<std::vector<DashboardExpression>> DashboardExpressions();

// Returns the names of the metrics in an expression, sorted, each once.
std::vector<std::string> MetricsIn(const std::string& expression);

}  // namespace sortition
