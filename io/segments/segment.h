#pragma once
// Segments: files of log records (docs/log_format.md). TFRecord frames around
// serialised sortition.log.v1.LogRecord; first a header, last a footer where
// the segment was closed.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Reads one segment that may still be written to. Not thread-safe.
class SegmentReader {
 public:
  enum class Outcome {
    kRecord,      // `payload` and `offset` are set.
    kEnd,         // Nothing more now: end of file, or the preallocated zeros.
    kIncomplete,  // Bytes at the end that are no whole record (yet): a write in
                  // progress, or a torn tail where the writer is dead.
    kCorrupt,  // A damaged record was passed over; reading can go on. `offset`
               // and `payload.size()` say what was skipped.
  };

  static absl::StatusOr<std::unique_ptr<SegmentReader>> Open(
      const std::string& path);
  ~SegmentReader();

  // Next record's payload, valid until the next call. After kEnd or kIncomplete
  // the same place is tried again.
  absl::StatusOr<Outcome> Next(absl::string_view* payload, uint64_t* offset);

  // Continues at the frame that starts at `offset`.
  void Seek(uint64_t offset);
  // Where the next frame would start.
  uint64_t offset() const;

 private:
  SegmentReader();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Names of the segments in `dir` (files ending in ".seg"), oldest first.
// NotFound where there is no such directory.
absl::StatusOr<std::vector<std::string>> ListSegments(const std::string& dir);

// Counts over all segments of a directory.
struct SegmentDamage {
  uint64_t corrupt_records = 0;  // Skipped in the middle.
  uint64_t torn_bytes = 0;       // Not a record, at the end.
};

}  // namespace sortition
