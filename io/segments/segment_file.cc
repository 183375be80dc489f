#include "io/segments/segment_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/cleanup/cleanup.h"
#include "io/clocks.h"
#include "io/posix_status.h"
#include "io/segments/record_frame.h"

namespace sortition {
namespace {

// A few hundred records of 20 kB: enough for the time that a thread takes to
// wake up, and little memory for a segment that nobody fills.
constexpr uint64_t kAheadBytes = uint64_t{8} << 20;
// Takes some 30 µs, for which the kernel holds the lock of the address space:
// no allocation of a request may wait for long.
constexpr uint64_t kStepBytes = uint64_t{256} << 10;

}  // namespace

absl::Status WriteAll(int fd, const std::string& path, uint64_t* offset,
                      IoVectors pieces) {
  size_t first = 0;
  while (first < pieces.size()) {
    const ssize_t count = pwritev(
        fd, pieces.data() + first,
        static_cast<int>(std::min<size_t>(pieces.size() - first, IOV_MAX)),
        static_cast<off_t>(*offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot write");
    *offset += static_cast<uint64_t>(count);
    size_t left = static_cast<size_t>(count);
    while (first < pieces.size() && left >= pieces[first].iov_len) {
      left -= pieces[first++].iov_len;
    }
    if (left > 0) {
      pieces[first].iov_base =
          static_cast<char*>(pieces[first].iov_base) + left;
      pieces[first].iov_len -= left;
    }
  }
  return absl::OkStatus();
}

absl::Status WriteRecord(int fd, const std::string& path, uint64_t* offset,
                         const log::v1::LogRecord& record) {
  std::string frame;
  AppendFrame(record.SerializeAsString(), &frame);
  return WriteAll(fd, path, offset, {ToIovec(frame)});
}

void ReadAt(int fd, uint64_t offset, uint64_t size, std::string* bytes) {
  bytes->resize(size);
  uint64_t filled = 0;
  while (filled < size) {
    const ssize_t count = pread(fd, bytes->data() + filled, size - filled,
                                static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filled += static_cast<uint64_t>(count);
  }
  bytes->resize(filled);
}

PagesAhead::PagesAhead(int fd, uint64_t file_bytes) : file_bytes_(file_bytes) {
  void* const map = mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) map_ = map;
}

PagesAhead::~PagesAhead() {
  if (map_ != nullptr) munmap(map_, file_bytes_);
}

bool PagesAhead::IsDue(uint64_t written) const {
  const uint64_t present = present_.load(std::memory_order_relaxed);
  return map_ != nullptr && present < file_bytes_ &&
         present < written + kAheadBytes / 2;
}

void PagesAhead::Advance(uint64_t written) {
  if (map_ == nullptr) return;
  // What is already written has its pages.
  uint64_t begin =
      std::min(file_bytes_,
               std::max(present_.load(), written / kStepBytes * kStepBytes));
  present_ = begin;
  const uint64_t end = std::min(written + kAheadBytes, file_bytes_);
  while (begin < end) {
    const uint64_t step = std::min(kStepBytes, file_bytes_ - begin);
    char* const pages = static_cast<char*>(map_) + begin;
    // The kernel does not know it, or the file was cut.
    if (madvise(pages, step, MADV_POPULATE_READ) != 0) {
      present_ = file_bytes_;
      return;
    }
    // Only the mapping goes; the pages stay in the page cache. Otherwise they
    // would count as memory of this process.
    madvise(pages, step, MADV_DONTNEED);
    begin += step;
    present_ = begin;
  }
}

absl::Status TruncateFile(int fd, const std::string& path, uint64_t bytes) {
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0
             ? absl::OkStatus()
             : PosixStatus(errno, path, "cannot truncate");
}

absl::Status SyncFile(int fd, const std::string& path) {
  return fdatasync(fd) == 0 ? absl::OkStatus()
                            : PosixStatus(errno, path, "cannot sync");
}

absl::Status SyncDirectory(const std::string& dir) {
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, dir, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  return fsync(fd) == 0 ? absl::OkStatus()
                        : PosixStatus(errno, dir, "cannot sync");
}

log::v1::SegmentFooter MakeFooter(uint64_t first_sequence,
                                  uint64_t num_records) {
  log::v1::SegmentFooter footer;
  footer.set_num_records(num_records);
  if (num_records > 0) {
    footer.set_last_sequence(first_sequence + num_records - 1);
  }
  footer.set_closed_time_us(NowUs());
  return footer;
}

}  // namespace sortition
