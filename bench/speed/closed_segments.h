#pragma once
// Keeps the spool of a benchmark small.
#include <string>

namespace sortition {

// Removes the segments in `dir` that no process writes any more, as a sidecar
// would once it has read them.
void RemoveClosedSegments(const std::string& dir);

}  // namespace sortition
