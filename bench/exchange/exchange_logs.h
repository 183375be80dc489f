#pragma once
// Logs that are exported and imported.
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace sortition {

struct LogShape {
  const char* name;
  uint32_t candidates;
  uint32_t features;
  int decisions;
};

// Writes a directory of tuples: selections with normal features.
absl::Status WriteTuples(const LogShape& shape, const std::string& dir);

// Writes lines like those of the Open Bandit Dataset: 80 items with their
// affinities, 4 user features.
absl::Status WriteObdFile(int lines, const std::string& path);

}  // namespace sortition
