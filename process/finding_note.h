#pragma once
// Lines of --check_config that are no findings.

namespace sortition {

// A line that begins so is printed and leaves the exit code as it is: it tells
// of something that is not there yet.
inline constexpr char kNotePrefix[] = "note: ";

}  // namespace sortition
