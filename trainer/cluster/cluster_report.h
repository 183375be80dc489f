#pragma once
// What `cluster` prints.
#include <string>

#include "absl/strings/string_view.h"
#include "sortition/config/v1/cluster.pb.h"

namespace sortition {

// An id with backslashes and control characters escaped as in C, to stand in a
// line.
std::string EscapeId(absl::string_view id);

// "; an unrelated order: 50 %"; empty where all vectors are flat.
std::string DescribeChance(const config::v1::ClusterReport& report);

std::string FormatClusterReport(const config::v1::ClusterReport& report);

}  // namespace sortition
