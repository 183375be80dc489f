#pragma once
// Reads and writes small files as a whole.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns the contents of the file; "-" is stdin. NotFound, PermissionDenied or
// Unavailable, naming the path, if it cannot be read.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes a temporary file and renames it, so that readers see either the old or
// the new file.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Returns the names in a directory, sorted. Never throws: a directory that
// cannot be read, or stops being readable halfway, is an error.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& dir);

}  // namespace sortition
