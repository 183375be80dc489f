#include "io/segments/spool_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"

namespace sortition {
namespace {

// This file is locked, and it contains the time in the newest segment's name.
constexpr char kLockFile[] = ".writer.lock";
constexpr size_t kTimeDigits = 16;

// Returns the time at the beginning of `text`; 0 if there is none.
int64_t ParseTime(absl::string_view text) {
  uint64_t time_us = 0;
  if (text.size() < kTimeDigits ||
      !absl::SimpleHexAtoi(text.substr(0, kTimeDigits), &time_us)) {
    return 0;
  }
  return static_cast<int64_t>(time_us);
}

}  // namespace

SpoolDirectory::SpoolDirectory(std::string path) : path_(std::move(path)) {}

SpoolDirectory::~SpoolDirectory() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

absl::StatusOr<std::unique_ptr<SpoolDirectory>> SpoolDirectory::Take(
    const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return PosixStatus(error.value(), dir, "cannot create");
  std::unique_ptr<SpoolDirectory> directory(new SpoolDirectory(dir));
  const std::string path = absl::StrCat(dir, "/", kLockFile);
  directory->lock_fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (directory->lock_fd_ < 0) return PosixStatus(errno, path, "cannot open");
  if (flock(directory->lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? absl::FailedPreconditionError(absl::StrCat(
                                      "another writer holds spool ", dir))
                                : PosixStatus(errno, path, "cannot lock");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".tmp")) continue;
    std::error_code ignored;
    std::filesystem::remove(absl::StrCat(dir, "/", name), ignored);
  }
  RETURN_IF_ERROR(directory->FindNewestTime());
  return directory;
}

absl::Status SpoolDirectory::FindNewestTime() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(path_));
  char digits[kTimeDigits];
  const ssize_t count = pread(lock_fd_, digits, sizeof digits, 0);
  if (count == static_cast<ssize_t>(sizeof digits)) {
    newest_time_us_ = ParseTime({digits, sizeof digits});
  }
  for (const std::string& name : names) {
    newest_time_us_ = std::max(newest_time_us_, ParseTime(name));
  }
  return absl::OkStatus();
}

int64_t SpoolDirectory::NextSegmentTime() {
  newest_time_us_ =
      std::max(absl::ToUnixMicros(absl::Now()), newest_time_us_ + 1);
  const std::string digits = absl::StrFormat("%016x", newest_time_us_);
  // If this fails, the names of the remaining segments must suffice.
  [[maybe_unused]] const ssize_t written =
      pwrite(lock_fd_, digits.data(), digits.size(), 0);
  return newest_time_us_;
}

void SpoolDirectory::TrimDeadSegments() const {
  const absl::StatusOr<std::vector<std::string>> names = ListSegments(path_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(path_, "/", name);
    // If it fails, the reader tries again when it comes to the segment.
    if (!IsClosedSegment(path)) RecoverSegment(path).IgnoreError();
  }
}

absl::StatusOr<uint64_t> SpoolDirectory::SegmentBytes(
    const std::string& except) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(path_));
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    if (name == except) continue;
    std::error_code gone;  // The reader may have removed it.
    const auto size =
        std::filesystem::file_size(absl::StrCat(path_, "/", name), gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

absl::StatusOr<uint64_t> SpoolDirectory::FreeBytes() const {
  std::error_code error;
  const std::filesystem::space_info space =
      std::filesystem::space(path_, error);
  if (error) return PosixStatus(error.value(), path_, "cannot look at");
  return space.available;
}

}  // namespace sortition
