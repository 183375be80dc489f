#pragma once
// Segments whose writer died.
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns true while the process that writes the segment lives and has not
// closed it.
absl::StatusOr<bool> SegmentHasLiveWriter(const std::string& path);

// Returns true if the segment ends with a footer, or is compressed: only closed
// segments are.
bool IsClosedSegment(const std::string& path);

// Cuts off the torn tail of an abandoned segment and adds a footer that records
// this. Returns the footer. A segment that has a footer, or is compressed, is
// not changed. FailedPrecondition if its writer lives.
absl::StatusOr<log::v1::SegmentFooter> RecoverSegment(const std::string& path);

// Replaces an abandoned segment by a copy, synced, that ends with a footer
// before the first damage behind which `can_redo(payload)` is true for the next
// intact record: that and all later ones will be written again. Returns the
// number of bytes that were cut off. A segment with a footer and nothing to cut
// is not changed. On a full disk the segment is cut in place. The copy of a
// compressed segment is not compressed: it has the name without ".zst", and on
// a full disk ResourceExhausted is returned and nothing changed.
absl::StatusOr<uint64_t> RewriteSegment(
    const std::string& path,
    absl::FunctionRef<bool(absl::string_view)> can_redo);

// Returns whether the segment has no record but its header.
absl::StatusOr<bool> IsEmptySegment(const std::string& path);

}  // namespace sortition
