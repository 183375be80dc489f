#pragma once
// Segments that appear in a directory together, or not at all.
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
    std::string dir;  // Absent or an empty directory, but for `replace`.
    std::string writer_id;
    log::v1::SegmentHeader::Kind kind =
        log::v1::SegmentHeader::KIND_UNSPECIFIED;
    uint64_t segment_bytes = 0;  // Where a segment rotates.
    std::string options_text;
    // `dir` may hold segments of this writer_id, and nothing else: they go when
    // the new ones come.
    bool replace = false;
  };

  // FailedPrecondition where something is in the way.
  static absl::StatusOr<std::unique_ptr<SegmentBatch>> Create(Options options);
  // Without Publish() nothing is left.
  ~SegmentBatch();

  absl::Status Append(const log::v1::LogRecord& record);
  // All that was appended is in `dir`, closed and on the disk. After an error
  // `dir` is as it was, or all is there and not certain to survive a power cut.
  absl::Status Publish();

  uint64_t num_segments() const { return num_segments_; }

 private:
  explicit SegmentBatch(Options options);
  absl::Status Begin();
  absl::Status Close();

  Options options_;
  std::string incarnation_;
  std::string parent_;   // Of dir.
  std::string staging_;  // Empty once it is published.
  std::unique_ptr<SegmentWriter> writer_;
  int64_t last_created_us_ = 0;
  uint64_t num_segments_ = 0;
  uint64_t num_records_ = 0;
};

}  // namespace sortition
