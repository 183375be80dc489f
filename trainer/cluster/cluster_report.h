#pragma once
// Formats what `cluster` prints.
#include <string>

#include "absl/strings/string_view.h"
#include "sortition/config/v1/cluster.pb.h"

namespace sortition {

// Returns the id with backslashes and control characters escaped as in C, so
// that it fits on a line.
std::string EscapeId(absl::string_view id);

// Returns "; an unrelated order: 50 %", or nothing if all vectors are flat.
std::string DescribeChance(const config::v1::ClusterReport& report);

std::string FormatClusterReport(const config::v1::ClusterReport& report);

}  // namespace sortition
