#pragma once
// Writes one segment: preallocated, checksummed, and locked while its writer
// lives.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment_file.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Begins the names of files that are not segments yet.
inline constexpr char kPreparedPrefix[] = ".prepared-";

// A preallocated, locked file that can become a segment. It is made ahead of
// time, so that starting the next segment takes only two cheap system calls.
// The destructor removes the file if it was not used.
class PreparedSegment {
 public:
  static absl::StatusOr<std::unique_ptr<PreparedSegment>> Create(
      const std::string& dir, uint64_t preallocate_bytes);
  ~PreparedSegment();

  // Makes the pages of the first records present. Without this call those of
  // the segment are made when they are written.
  void MakePages();

 private:
  friend class SegmentWriter;
  PreparedSegment() = default;
  std::string path_;
  int fd_ = -1;
  // Opened ahead, so that syncing the new name needs no descriptor.
  int directory_fd_ = -1;
  uint64_t preallocated_bytes_ = 0;
  std::unique_ptr<PagesAhead> pages_;
};

// Frames that no sync has covered, read back from the file.
struct UnsyncedFrames {
  std::string frames;        // Whole, intact frames, those of gaps left out.
  uint64_t num_records = 0;  // In `frames`.
  std::vector<log::v1::Gap> gaps;
  uint64_t num_lost = 0;      // Records that can no longer be read.
  uint64_t first_record = 0;  // Number of the first one within its segment.
  std::vector<bool> intact;   // Whether each of them can still be read.
};

// Not thread-safe. The file is created under a temporary name, preallocated and
// locked; then the header record is written, and the file is renamed. The lock
// (flock) is held until the writer closes the segment or dies: by it readers
// tell a live segment from an abandoned one.
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
  // Without Close() the segment stays in the state in which a dead writer
  // leaves it.
  ~SegmentWriter();

  // Appends one frame whose payload is the concatenation of `pieces`, gathered
  // by one pwritev(2) without a copy. On failure nothing is appended: bytes
  // that were written are cut off again. ResourceExhausted if the disk is full.
  absl::Status Append(std::span<const absl::string_view> pieces);
  absl::Status Append(const log::v1::LogRecord& record);
  // Appends `num_records` whole frames, given in pieces, by one write. After a
  // failure the first frames may be complete. These stay, since a reader may
  // have read them, and num_records() counts them.
  absl::Status AppendFrames(std::span<const absl::string_view> pieces,
                            uint64_t num_records);

  // Calls fdatasync(2), the first time also for the directory, so that the name
  // of the segment survives too. May run while another thread appends.
  // What was appended before the call is then durable. After a failure the
  // kernel may drop what it could not write and report success the next time,
  // so every later call fails, too: save ReadUnsynced() elsewhere.
  absl::Status Sync();

  // Writes the footer, truncates the file to its size, syncs and unlocks it.
  // After a failure the records are in the file as they were before. The footer
  // says whether this is the last segment of its incarnation.
  absl::Status Close(bool is_last = false);

  // True when MakePages() would make the next appends cheaper.
  bool wants_pages() const;
  // Makes the pages of the next records present. May run while another thread
  // appends, syncs or closes.
  void MakePages();

  // Returns the records that are not known to be durable.
  UnsyncedFrames ReadUnsynced() const;

  const std::string& name() const;
  uint64_t bytes() const;        // Written so far, header included.
  uint64_t num_records() const;  // Without the header.
  // The first so many records are on the disk.
  uint64_t num_durable_records() const;
  // Returns true after a failed write whose bytes could not be cut off: every
  // later append fails.
  bool is_torn() const;

 private:
  SegmentWriter();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Returns "<created_time_us, 16 hexadecimal digits>-<writer_id>-<counter, 6
// digits>.seg". These names sort by time.
std::string SegmentName(int64_t created_time_us, absl::string_view writer_id,
                        uint64_t counter);
// Returns the writer_id in such a name; empty if it is none.
absl::string_view WriterIdOf(absl::string_view segment_name);

}  // namespace sortition
