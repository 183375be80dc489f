#pragma once
// Replaces records of a closed segment by others of the same size.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Ends the names of files that a rewriting leaves if it dies. They are no
// segments.
inline constexpr char kRewriteSuffix[] = ".rewrite.tmp";

// How the records of a segment change.
class SegmentEdit {
 public:
  virtual ~SegmentEdit() = default;
  // Returns the payload, of the same size, that takes the place of `payload`;
  // nothing if it stays.
  virtual absl::StatusOr<std::optional<std::string>> Replace(
      absl::string_view payload) = 0;
  // Returns whether bytes that are no intact record become 0xFF bytes, which
  // stay no record.
  virtual bool Wipes(absl::string_view damaged) = 0;
};

// Writes a copy of the segment beside it, syncs it, and lets it take the
// segment's place in one step: after a crash there is either the old file or
// the new one, and perhaps one that ends in kRewriteSuffix. `path` is that of
// the segment without the ending that compression adds; a compressed segment
// stays compressed. Mode, owner and time of the file stay. Readers that have it
// open go on reading the old one. Returns false, and changes nothing, if it was
// removed meanwhile. Requires that nobody writes to it and, of the output of a
// sidecar, UpkeepLock.
absl::StatusOr<bool> RewriteSegmentRecords(const std::string& path,
                                           SegmentEdit* edit);

// Removes what rewritings that died left in a directory.
absl::Status RemoveRewriteLeftovers(const std::string& dir);

}  // namespace sortition
