#pragma once
// Finds the segments that a command line names.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns the paths of the segments that `entries` name, each file once. An
// entry is a directory of segments, a segment, or a pattern of such with *, ?
// or [] as in glob(7), or several of these, separated by commas; what exists
// under that very name is neither pattern nor list. Sorted by file name: names
// begin with a time, so segments of several directories come in the order of
// writing. NotFound for an entry that matches nothing; the error of the system,
// such as PermissionDenied, for one that cannot be looked at.
absl::StatusOr<std::vector<std::string>> FindSegments(
    const std::vector<std::string>& entries);

// Also returns the segments in the sub-directory late of each directory, after
// all others.
absl::StatusOr<std::vector<std::string>> FindSegmentsWithLate(
    const std::vector<std::string>& entries);

// Returns the directories and segments that such entries name, in their order
// and as they are written there. Errors as of FindSegments.
absl::StatusOr<std::vector<std::string>> ExpandLogEntries(
    const std::vector<std::string>& entries);

// Splits the value of an option at its commas, unless a file has that name.
std::vector<std::string> SplitLogEntries(absl::string_view value);

}  // namespace sortition
