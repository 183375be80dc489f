#pragma once
// Files of the model store, which others write.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace sortition {

// Reads a whole file. Never waits and never reads without end: DataLoss if it
// is a pipe, a device or anything else but a regular file, perhaps behind a
// symbolic link, or if it has more than `max_bytes`; nothing is read then.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            uint64_t max_bytes);

}  // namespace sortition
