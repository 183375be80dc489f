#pragma once
// Segments as files on the disk: how much room they take, how old they are, and
// which of them may be compressed or removed.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

struct StoredSegment {
  std::string path;  // Without the ending that compression adds.
  bool is_plain = false;
  bool is_compressed = false;  // Both: it was compressed a moment ago.
  uint64_t bytes = 0;          // Of the file that stays.
  // True for the last segment of a writer, by name: it may be open, and says
  // where the writer continues. It stays as it is.
  bool is_newest = false;
  // When it began, microseconds since the epoch, and when the next segment of
  // its writer did; 0 for the newest.
  int64_t began_us = 0;
  int64_t followed_us = 0;
};

// Returns the segments in `dir`, oldest first.
absl::StatusOr<std::vector<StoredSegment>> ListStored(const std::string& dir);

// Returns the segments in `dir` and in its sub-directory late, if there is one,
// those first that were followed first. Late feedback comes after its tuple: a
// late segment counts as followed when all tuple segments are that were written
// at the same time or before, so that it does not go before them.
absl::StatusOr<std::vector<StoredSegment>> ListStoredWithLate(
    const std::string& dir);

// What may stay. 0: no limit.
struct StorageLimits {
  int64_t followed_from_us = 0;  // Segments that were followed earlier go.
  uint64_t bytes = 0;            // Of all segments.
};

// Returns the segments that must go, oldest first. The newest of each writer
// stay, also where they exceed the limit.
std::vector<StoredSegment> ChooseForRemoval(
    const std::vector<StoredSegment>& segments, const StorageLimits& limits);

// Removes the files of the segment. One that is gone is no error.
absl::Status RemoveStored(const StoredSegment& segment);

// Compresses what was closed and is not the newest of its writer. The plain
// file stays beside the compressed one until the next call, so that whoever
// lists the directory meanwhile sees one of them. Cancelled once
// `should_stop` returns true.
struct CompressionCounts {
  uint64_t segments = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
};
absl::Status CompressStored(const std::vector<StoredSegment>& segments,
                            absl::FunctionRef<bool()> should_stop,
                            CompressionCounts* counts);

}  // namespace sortition
