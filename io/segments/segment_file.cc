#include "io/segments/segment_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/cleanup/cleanup.h"
#include "io/clocks.h"
#include "io/posix_status.h"
#include "io/segments/record_frame.h"

namespace sortition {

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
