#pragma once
// Small files, whole.
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// NotFound, PermissionDenied or Unavailable name the path. "-" is stdin.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// By a temporary name and rename: readers see the old or the new file.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace sortition
