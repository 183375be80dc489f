#pragma once
// Segments are files of log records (docs/log_format.md): TFRecord frames with
// serialised sortition.log.v1.LogRecord. The first record is a header; the last
// one is a footer if the segment was closed.
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

// The ends of the names of segments, and what is added to that of one that was
// compressed (docs/log_format.md).
inline constexpr absl::string_view kSegmentSuffix = ".seg";
inline constexpr absl::string_view kCompressedSuffix = ".zst";

// The newest format_version of segments that this release reads and writes.
inline constexpr uint32_t kLogFormatVersion = 1;

// FailedPrecondition if the segment `path` has a later format.
absl::Status CheckLogFormat(const log::v1::SegmentHeader& header,
                            absl::string_view path);

// Reads one segment, which may still be growing, or be compressed: offsets are
// those of the segment before that. Not thread-safe.
class SegmentReader {
 public:
  enum class Outcome {
    kRecord,  // `payload` and `offset` are set.
    kEnd,     // No more data yet: end of file, or preallocated zeros.
    // The last bytes are not a whole record: a write is in progress, or the
    // writer died and left a torn tail.
    kIncomplete,
    // A damaged record was skipped; reading can go on. `offset` and
    // `payload.size()` say what was skipped.
    kCorrupt,
  };

  // Opens the compressed file beside `path` if there is no other.
  static absl::StatusOr<std::unique_ptr<SegmentReader>> Open(
      const std::string& path);
  ~SegmentReader();

  // Reads the next record. `payload` is valid until the next call. After kEnd
  // or kIncomplete the next call tries the same place again. FailedPrecondition
  // for the header of a later format: records could mean something else.
  absl::StatusOr<Outcome> Next(absl::string_view* payload, uint64_t* offset);

  // Continues at the frame that starts at `offset`.
  void Seek(uint64_t offset);
  // The place where the next frame starts.
  uint64_t offset() const;

 private:
  SegmentReader();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Returns the names of the segments in `dir`, oldest first: files ending in
// ".seg", or in ".seg.zst" where only that is there. NotFound if there is no
// such directory.
absl::StatusOr<std::vector<std::string>> ListSegments(const std::string& dir);

// Returns the path that a segment has when it is compressed.
std::string CompressedSegmentPath(absl::string_view path);

// Damage found in all segments of a directory.
struct SegmentDamage {
  uint64_t corrupt_records = 0;  // Damaged records that were skipped.
  uint64_t torn_bytes = 0;  // Bytes at the ends that are not a whole record.
};

}  // namespace sortition
