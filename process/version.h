#pragma once
// What was built.
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns the release of the sources, as in "0.1.0".
absl::string_view Version();

// Returns what --version prints, several lines: program and release; commit,
// if the build was told (SORTITION_COMMIT); build type and sanitizers; what is
// compiled in; the libraries.
std::string VersionText(absl::string_view program);

}  // namespace sortition
