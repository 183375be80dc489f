#pragma once
// What was built.
#include "absl/strings/string_view.h"

namespace sortition {

// Returns the release of the sources, as in "0.1.0".
absl::string_view Version();

}  // namespace sortition
