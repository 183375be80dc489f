#pragma once
// Converts errno to absl::Status.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns "<what> <path>: <strerror>" with the matching code: NotFound,
// PermissionDenied, ResourceExhausted (disk or quota full), AlreadyExists, else
// Unavailable.
absl::Status PosixStatus(int error, const std::string& path,
                         absl::string_view what);

}  // namespace sortition
