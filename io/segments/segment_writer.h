#pragma once
// Writes one segment: preallocated, checksummed, locked while its writer lives.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A preallocated, locked file that can become a segment: made ahead of time, so
// that starting the next segment is two cheap system calls. Removed when
// dropped.
class PreparedSegment {
 public:
  static absl::StatusOr<std::unique_ptr<PreparedSegment>> Create(
      const std::string& dir, uint64_t preallocate_bytes);
  ~PreparedSegment();

 private:
  friend class SegmentWriter;
  PreparedSegment() = default;
  std::string path_;
  int fd_ = -1;
};

// Not thread-safe. The file is made under a temporary name, preallocated,
// locked (flock, held until the writer closes or dies: that is how readers tell
// a live segment from an abandoned one), given its header record, then renamed.
class SegmentWriter {
 public:
  struct Options {
    std::string dir;   // Must exist.
    std::string name;  // See SegmentName().
    uint64_t preallocate_bytes = 0;
    log::v1::SegmentHeader header;
  };

  static absl::StatusOr<std::unique_ptr<SegmentWriter>> Create(
      const Options& options,
      std::unique_ptr<PreparedSegment> prepared = nullptr);
  // Without Close() the segment is left as a dead writer leaves it.
  ~SegmentWriter();

  // Appends one frame whose payload is the concatenation of `pieces`, gathered
  // by one pwritev(2) without a copy. On failure nothing is appended: the bytes
  // that were written are cut again. ResourceExhausted: disk full.
  absl::Status Append(std::span<const absl::string_view> pieces);
  absl::Status Append(const log::v1::LogRecord& record);
  // Appends `num_records` whole frames, in pieces, by one write. On failure the
  // first frames may have got there whole: these stay, for a reader may have
  // taken them, and num_records() counts them.
  absl::Status AppendFrames(std::span<const absl::string_view> pieces,
                            uint64_t num_records);

  // fdatasync(2); the first time also of the directory, so that the segment's
  // name survives too. May run while another thread appends.
  absl::Status Sync();

  // Footer, truncation to size, Sync(), unlock.
  absl::Status Close();

  const std::string& name() const;
  uint64_t bytes() const;        // Written so far, header included.
  uint64_t num_records() const;  // Header not counted.

 private:
  SegmentWriter();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// "<created_time_us, 16 hexadecimal digits>-<writer_id>-<counter, 6
// digits>.seg": sorts by time.
std::string SegmentName(int64_t created_time_us, absl::string_view writer_id,
                        uint64_t counter);

// True while the process that writes the segment lives and has not closed it.
absl::StatusOr<bool> SegmentHasLiveWriter(const std::string& path);

// Cuts the torn tail of an abandoned segment and adds a footer that says so;
// returns the footer. A segment that has a footer is left as it is.
// FailedPrecondition where its writer lives.
absl::StatusOr<log::v1::SegmentFooter> RecoverSegment(const std::string& path);

}  // namespace sortition
