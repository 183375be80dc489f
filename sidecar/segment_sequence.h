#pragma once
// An endless log over segments that rotate by size and age, written by one
// process at a time and continued after a crash.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment_writer.h"
#include "sidecar/spools/record_wire.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Where an output stands, for the header of its next segment.
struct OutputPlace {
  log::v1::SpoolPosition resume;
  std::optional<log::v1::SpoolProgress> progress;
};

// Not thread-safe.
class SegmentSequence {
 public:
  struct Options {
    std::string dir;        // Made if missing; other sequences may be there.
    std::string writer_id;  // In segment names and headers.
    // Writers of sequences in `dir` that this one continues.
    std::vector<std::string> continued;
    log::v1::SegmentHeader::Kind kind =
        log::v1::SegmentHeader::KIND_UNSPECIFIED;
    uint64_t segment_bytes = 0;
    uint64_t preallocate_bytes = 0;
    double segment_seconds = 0;
    std::string options_text;
    // Returns whether a record will be written again if Open() cuts it off.
    std::function<bool(absl::string_view)> can_redo;
  };

  // Recovers what a dead writer left: cuts its last segment at the first damage
  // and closes it. What is behind the damage is written again from the spool;
  // if the spool has not got it any more, the damage alone is passed over. The
  // records are copied to a new file and synced: after a failed fdatasync they
  // may be in the page cache alone, and a second fdatasync of the old file
  // would say nothing.
  static absl::StatusOr<std::unique_ptr<SegmentSequence>> Open(Options options);
  // Without Close(), the files stay as a dead process leaves them.
  ~SegmentSequence() = default;

  // Appends a record whose payload is the concatenation of `pieces`. If this
  // begins a segment, `place` goes into its header.
  absl::Status Append(std::span<const absl::string_view> pieces,
                      const OutputPlace& place, int64_t now_us);

  // Begins another segment, so that `place` is on the disk after Sync().
  absl::Status Rotate(const OutputPlace& place, int64_t now_us);
  // Returns true if Append() may go on in the current segment.
  bool has_segment() const { return writer_ != nullptr; }
  // Closes the current segment if it is old enough.
  absl::Status RotateByAge(int64_t now_us);
  // All that was appended is on the disk when it returns. Does nothing if it is
  // there already.
  absl::Status Sync();
  absl::Status Close();

  // Bytes that Open() cut from the end of the last segment.
  uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  explicit SegmentSequence(Options options);
  // Recovers the last segment of `writer_id` in `names`.
  absl::Status Recover(const std::vector<std::string>& names,
                       const std::string& writer_id);
  absl::Status Begin(const OutputPlace& place, int64_t now_us);

  const Options options_;
  const std::string incarnation_;
  int64_t last_created_us_ = 0;  // Time in the newest name.
  uint64_t num_segments_ = 0;    // Begun by this process.
  uint64_t num_records_ = 0;     // Appended by this process.
  uint64_t torn_bytes_ = 0;
  bool is_synced_ = true;
  std::unique_ptr<SegmentWriter> writer_;
  int64_t begun_us_ = 0;
};

// Returns the time that the name of a segment begins with; 0 if it does not.
int64_t CreatedTimeOf(const std::string& name);

// Reads a segment that has no writer: stores its header and calls `take` with
// every other record but the footer. Damaged records are skipped.
absl::Status ReadSegment(const std::string& path,
                         log::v1::SegmentHeader* header,
                         const std::function<void(const RecordView&)>& take);

// Makes a directory and its parents if they are missing.
absl::Status MakeDirectories(const std::string& dir);
// Removes the files "*.tmp", which a dead process left. The caller must hold
// the directory's lock.
void RemoveTemporaries(const std::string& dir);

}  // namespace sortition
