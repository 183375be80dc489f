#pragma once
// Spools of benchmarks, and where they and the programs are.
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Writes a spool of so many copies of a decision as the server does, each with
// an id of its own. Every fourth has feedback. Their times end an hour ago, so
// that all windows are over. Returns its bytes.
absl::StatusOr<uint64_t> WriteSpool(const std::string& dir,
                                    log::v1::Decision decision,
                                    std::span<const float> features,
                                    int num_decisions);

// Removes the segments in `dir` that no process writes any more, as a sidecar
// would once it has read them.
void RemoveClosedSegments(const std::string& dir);

// The directory of the programs: `flag`, or where this program is.
std::string ProgramDirectory(const std::string& flag);
// The parent of a spool: `flag`, or TMPDIR (empty), or else `bin`: /tmp may be
// in memory.
std::string SpoolParent(const std::string& flag, const std::string& bin);

}  // namespace sortition
