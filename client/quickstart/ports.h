#pragma once
// Ports of the loopback that are free.
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

// Returns a port of 127.0.0.1 for each one that is wanted: that one if it is
// free, else another one; 0: any. They are all different. Somebody else may
// take one before it is used.
absl::StatusOr<std::vector<int>> FreePorts(const std::vector<int>& wanted);

}  // namespace sortition
