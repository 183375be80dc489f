#pragma once
// How far a sidecar is done with a spool, and what is missing from the spool
// after that.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct MissingRecords {
  uint64_t count = 0;     // At least 1.
  bool is_exact = false;  // False: there may be more.
};

// Returns true if the progress is in a spool of this writer.
bool IsOfWriter(const log::v1::SpoolProgress& progress,
                absl::string_view writer_id);

// Returns what was removed between `progress` and the segment `name` with
// `header`, which is the oldest one of the spool. Nothing if they follow each
// other, or the segment was there before `progress`.
std::optional<MissingRecords> FindMissingRecords(
    const log::v1::SpoolProgress& progress, const std::string& name,
    const log::v1::SegmentHeader& header);

// Returns the progress of a sidecar that begins with the segment `name`.
log::v1::SpoolProgress ProgressBefore(const std::string& name,
                                      const log::v1::SegmentHeader& header);

}  // namespace sortition
