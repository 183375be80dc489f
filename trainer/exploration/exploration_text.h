#pragma once
// Formats the table of explorations.
#include <string>

#include "sortition/config/v1/calibrate.pb.h"

namespace sortition {

// Returns the table, which row to read, and what its columns mean.
std::string FormatExplorations(const config::v1::ExplorationTable& table);

}  // namespace sortition
