#pragma once
// Operations on the file of a segment. Errors name `path`.
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

using IoVectors = absl::InlinedVector<iovec, 8>;

inline iovec ToIovec(absl::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

// Writes all of `pieces` at `*offset` and advances it by the bytes written,
// also on failure.
absl::Status WriteAll(int fd, const std::string& path, uint64_t* offset,
                      IoVectors pieces);

// Writes one frame that holds `record`; the offset as in WriteAll().
absl::Status WriteRecord(int fd, const std::string& path, uint64_t* offset,
                         const log::v1::LogRecord& record);

// Reads `size` bytes at `offset` into `bytes`; fewer at the end of the file or
// where the disk does not return them.
void ReadAt(int fd, uint64_t offset, uint64_t size, std::string* bytes);

// Makes the pages of a preallocated file present in the page cache before they
// are written: a write that has to make them takes almost twice as long. The
// bytes are never touched, so a file that somebody cuts raises no SIGBUS. Where
// the kernel cannot do it, nothing happens.
class PagesAhead {
 public:
  // `fd` may be closed afterwards.
  PagesAhead(int fd, uint64_t file_bytes);
  ~PagesAhead();
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;

  // True when so many bytes have been written that Advance() is due.
  // Thread-safe.
  bool IsDue(uint64_t written) const;
  // Makes the pages behind `written` present. One thread at a time.
  void Advance(uint64_t written);

 private:
  void* map_ = nullptr;
  const uint64_t file_bytes_;
  std::atomic<uint64_t> present_{0};  // Bytes whose pages have been made.
};

absl::Status TruncateFile(int fd, const std::string& path, uint64_t bytes);

// Calls fdatasync(2).
absl::Status SyncFile(int fd, const std::string& path);

// Calls fsync(2) on a directory, so that its names survive a power cut.
absl::Status SyncDirectory(const std::string& dir);

// Returns a footer that was closed now, of a segment whose header has
// `first_sequence`.
log::v1::SegmentFooter MakeFooter(uint64_t first_sequence,
                                  uint64_t num_records);

}  // namespace sortition
