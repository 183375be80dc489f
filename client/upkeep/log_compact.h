#pragma once
// Rewrites tuple segments: small ones become large ones, in another order.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/config/v1/upkeep.pb.h"

namespace sortition {

struct CompactResult {
  uint64_t segments_read = 0;
  uint64_t tuples = 0;
  uint64_t other_records = 0;
  uint64_t copies = 0;           // Of tuples that were read before: left out.
  uint64_t damaged_records = 0;  // Left out.
  // At the ends of segments: no whole records. Those that a recovery cut, too.
  uint64_t torn_bytes = 0;
  uint64_t segments_written = 0;
};

// Writes all tuples in the segments that `entries` name (FindSegments()) to
// `options.out`, each once, byte for byte, sorted; other records come first, in
// the order in which they were read. The new segments are as old as the newest
// of the others. Either all of the new segments are there at the end, or none.
// The old ones are not changed. FailedPrecondition if a sidecar works on one of
// the directories, if there are segments that are no tuple segments, or if they
// were joined in different ways. DataLoss for damaged records, unless they may
// be left out.
absl::StatusOr<CompactResult> CompactLog(
    const config::v1::LogCompactOptions& options,
    const std::vector<std::string>& entries);

}  // namespace sortition
