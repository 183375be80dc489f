#pragma once
// Draws figures 1 to 3 of the Lovász-Bregman paper [IyerBilmes13].
#include <string>

#include "absl/status/status.h"

namespace sortition {

// Writes figure1.svg to figure3.svg into the directory.
absl::Status DrawAggregationFigures(const std::string& directory);

}  // namespace sortition
