#pragma once
// Writes segments that appear in a directory all together, or not at all.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/segments/segment_writer.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Writes closed segments into a hidden directory beside `dir` and renames it to
// `dir` at the end. Not thread-safe.
class SegmentBatch {
 public:
  struct Options {
    std::string dir;  // Absent or empty, unless `replace` is set.
    std::string writer_id;
    log::v1::SegmentHeader::Kind kind =
        log::v1::SegmentHeader::KIND_UNSPECIFIED;
    uint64_t segment_bytes = 0;  // Size from which a new segment is started.
    std::string options_text;
    bool compress = false;  // Into files of CompressFile().
    // When the first segment was created, microseconds since the epoch; the
    // others follow by a microsecond each. 0: when they are begun.
    int64_t created_us = 0;
    // If true, `dir` may contain segments of this writer_id, but nothing else.
    // The new segments replace them.
    bool replace = false;
  };

  // FailedPrecondition if `dir` contains anything that must not be replaced.
  static absl::StatusOr<std::unique_ptr<SegmentBatch>> Create(Options options);
  // Removes everything unless Publish() was called.
  ~SegmentBatch();

  absl::Status Append(const log::v1::LogRecord& record);
  // Appends a serialised LogRecord as it is.
  absl::Status Append(absl::string_view payload);
  // Moves all that was appended into `dir`, closed and synced to the disk.
  // After an error either `dir` is unchanged, or all is there but may not
  // survive a power cut.
  absl::Status Publish();

  uint64_t num_segments() const { return num_segments_; }

 private:
  explicit SegmentBatch(Options options);
  absl::Status Begin();
  // Writes the frames that wait.
  absl::Status Flush();
  absl::Status Close();

  Options options_;
  std::string incarnation_;
  std::string parent_;   // The parent of dir.
  std::string staging_;  // Empty after Publish().
  std::unique_ptr<SegmentWriter> writer_;
  std::string payload_;
  std::string frames_;  // Whole frames that wait to be written.
  uint64_t num_waiting_ = 0;
  int64_t last_created_us_ = 0;
  uint64_t num_segments_ = 0;
  uint64_t num_records_ = 0;
};

}  // namespace sortition
