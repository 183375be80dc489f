#pragma once
// Pages that programs under test serve: metrics, and what brokers tell.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns the body of http://127.0.0.1:port/path.
absl::StatusOr<std::string> FetchPage(int port, absl::string_view path);

// Returns the present text of /metrics.
absl::StatusOr<std::string> FetchMetrics(int port);

// The sum over all label sets of a metric whose name and labels start with
// `prefix` ("name" or "name{label=\"x"); 0 if there is none.
double MetricSum(const std::string& text, absl::string_view prefix);

}  // namespace sortition
