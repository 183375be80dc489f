#pragma once
// Which versions of a model a log names.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct LoggedVersions {
  // From version to the decisions and views that need it to be recomputed: it
  // decided, shared the traffic with the one that did, or looked on.
  std::map<uint64_t, uint64_t> uses;
  uint64_t decisions = 0;        // Of the model.
  uint64_t corrupt_records = 0;  // Passed over: what they name is unknown.
};

// Reads the spools and tuples that `entries` name, as FindSegments(), whose
// errors it returns. Segments that a sidecar removes meanwhile are skipped.
absl::StatusOr<LoggedVersions> FindLoggedVersions(
    const std::vector<std::string>& entries, const std::string& model);

}  // namespace sortition
