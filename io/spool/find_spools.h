#pragma once
// Finds spools by a pattern, for readers of several.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns whether `path` has a *, which stands for any part of a name.
bool IsSpoolPattern(absl::string_view path);

// Returns the directories that match `pattern` and have a segment or the lock
// of a writer, sorted.
absl::StatusOr<std::vector<std::string>> FindSpools(const std::string& pattern);

}  // namespace sortition
