#include "io/scratch_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

// The free space of the disk is checked once for every so many bytes.
constexpr uint64_t kCheckEveryBytes = uint64_t{64} << 20;
constexpr uint64_t kMoveBytes = uint64_t{1} << 20;
constexpr size_t kMaxPieces = 16;

// Opens an unnamed file in `dir`. Returns -1 and sets errno on failure.
int OpenUnnamed(const std::string& dir) {
  int fd = open(dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Not every file system supports O_TMPFILE.
  std::string path = dir + "/sortition-scratch-XXXXXX";
  fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) unlink(path.c_str());
  return fd;
}

// Writes all of `pieces`, which it modifies. Returns 0 or an errno.
int WriteAll(int fd, std::span<iovec> pieces, uint64_t offset) {
  while (!pieces.empty()) {
    const ssize_t count =
        pwritev(fd, pieces.data(), static_cast<int>(pieces.size()),
                static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    offset += static_cast<uint64_t>(count);
    auto left = static_cast<size_t>(count);
    while (!pieces.empty() && left >= pieces[0].iov_len) {
      left -= pieces[0].iov_len;
      pieces = pieces.subspan(1);
    }
    if (left > 0) {
      pieces[0].iov_base = static_cast<char*>(pieces[0].iov_base) + left;
      pieces[0].iov_len -= left;
    }
  }
  return 0;
}

}  // namespace

ScratchFile::ScratchFile(int fd, std::string dir, uint64_t max_bytes)
    : fd_(fd), dir_(std::move(dir)), max_bytes_(max_bytes) {}

ScratchFile::~ScratchFile() { close(fd_); }

absl::StatusOr<std::unique_ptr<ScratchFile>> ScratchFile::Create(
    const std::string& dir, uint64_t max_bytes) {
  const int fd = OpenUnnamed(dir);
  if (fd < 0) return PosixStatus(errno, dir, "cannot make a scratch file in");
  return std::unique_ptr<ScratchFile>(new ScratchFile(fd, dir, max_bytes));
}

absl::Status ScratchFile::CheckRoom(uint64_t size) {
  const uint64_t end = bytes_ + size;
  if (end > max_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the scratch file in ", dir_, " holds ", bytes_, " bytes; ", size,
        " more would exceed its limit of ", max_bytes_));
  }
  if (end <= checked_bytes_) return absl::OkStatus();
  struct statvfs disk = {};
  if (fstatvfs(fd_, &disk) != 0) {
    return PosixStatus(errno, dir_, "cannot ask for the free space of");
  }
  const uint64_t step = std::max(size, kCheckEveryBytes);
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  // Close to the limit less than a whole step can be written.
  const uint64_t needed = std::min(step, max_bytes_ - bytes_);
  if (free_bytes < needed + kReserveBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(dir_, " has ", free_bytes, " bytes free, must have ",
                     needed + kReserveBytes, ": ", needed,
                     " for the scratch file, the rest for other processes"));
  }
  checked_bytes_ = bytes_ + step;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ScratchFile::Append(
    std::span<const absl::string_view> pieces) {
  CHECK(pieces.size() <= kMaxPieces);
  std::array<iovec, kMaxPieces> parts;
  uint64_t size = 0;
  size_t num_parts = 0;
  for (const absl::string_view piece : pieces) {
    if (piece.empty()) continue;
    parts[num_parts++] = {const_cast<char*>(piece.data()), piece.size()};
    size += piece.size();
  }
  RETURN_IF_ERROR(CheckRoom(size));
  const int error = WriteAll(fd_, std::span(parts).first(num_parts), bytes_);
  // The part that was written is beyond the end and will be overwritten.
  if (error != 0)
    return PosixStatus(error, dir_, "cannot write the scratch file in");
  return std::exchange(bytes_, bytes_ + size);
}

absl::Status ScratchFile::MoveDown(uint64_t from, uint64_t to, uint64_t size) {
  CHECK(to <= from && from + size <= bytes_);
  if (to == from) return absl::OkStatus();
  std::vector<char> buffer(std::min(size, kMoveBytes));
  for (uint64_t done = 0; done < size;) {
    const uint64_t part = std::min<uint64_t>(buffer.size(), size - done);
    RETURN_IF_ERROR(Read(from + done, buffer.data(), part));
    iovec piece = {buffer.data(), part};
    const int error = WriteAll(fd_, {&piece, 1}, to + done);
    if (error != 0)
      return PosixStatus(error, dir_, "cannot write the scratch file in");
    done += part;
  }
  return absl::OkStatus();
}

absl::Status ScratchFile::Truncate(uint64_t size) {
  CHECK(size <= bytes_);
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    return PosixStatus(errno, dir_, "cannot shorten the scratch file in");
  }
  bytes_ = size;
  checked_bytes_ = size;
  return absl::OkStatus();
}

absl::Status ScratchFile::Read(uint64_t offset, void* data, size_t size) const {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = pread(fd_, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return PosixStatus(errno, dir_, "cannot read the scratch file in");
    if (count == 0) {
      return absl::OutOfRangeError(absl::StrCat("the scratch file in ", dir_,
                                                " ends at ", offset, ", ", size,
                                                " bytes before what is read"));
    }
    to += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

void ScratchFile::WillRead(uint64_t offset, size_t size) const {
  posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(size),
                POSIX_FADV_WILLNEED);
}

bool ScratchFile::in_memory() const {
  struct statfs system = {};
  return fstatfs(fd_, &system) == 0 &&
         (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

std::string DefaultScratchDirectory() {
  const char* dir = getenv("TMPDIR");
  return dir != nullptr && *dir != '\0' ? dir : "/var/tmp";
}

}  // namespace sortition
