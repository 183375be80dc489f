#include "io/spool/spool_directory.h"

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
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "io/segments/segment_writer.h"

namespace sortition {
namespace {

// Returns the time at the beginning of `text`; 0 if there is none.
int64_t TimeOfSegmentName(absl::string_view text) {
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
  const std::string path = absl::StrCat(dir, "/", kWriterLockFile);
  directory->lock_fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (directory->lock_fd_ < 0) return PosixStatus(errno, path, "cannot open");
  if (flock(directory->lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? absl::FailedPreconditionError(absl::StrCat(
                                      "another writer holds spool ", dir))
                                : PosixStatus(errno, path, "cannot lock");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  for (const std::string& name : names) {
    // Others write here, too.
    if (!absl::StartsWith(name, kPreparedPrefix)) continue;
    std::error_code ignored;
    std::filesystem::remove(absl::StrCat(dir, "/", name), ignored);
  }
  RETURN_IF_ERROR(directory->FindNewestTime());
  return directory;
}

absl::Status SpoolDirectory::FindNewestTime() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(path_));
  ASSIGN_OR_RETURN(state_before_, ReadWriterState(path_));
  state_ = state_before_;
  for (const std::string& name : names) {
    state_.newest_segment_us =
        std::max(state_.newest_segment_us, TimeOfSegmentName(name));
  }
  return absl::OkStatus();
}

void SpoolDirectory::WriteState() {
  const std::string line = EncodeWriterState(state_);
  // If this fails, the names of the remaining segments must suffice, and the
  // reader sees a writer that is away.
  [[maybe_unused]] const ssize_t written =
      pwrite(lock_fd_, line.data(), line.size(), 0);
}

int64_t SpoolDirectory::NextSegmentTime() {
  const std::lock_guard lock(mutex_);
  state_.newest_segment_us = std::max(NowUs(), state_.newest_segment_us + 1);
  WriteState();
  return state_.newest_segment_us;
}

void SpoolDirectory::BeginState(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  state_ = {.newest_segment_us = state_.newest_segment_us,
            .alive_us = now_us,
            .trouble_since_us = 0,
            .durable_us = now_us,
            .is_closed = false,
            .boot_id = BootId()};
  WriteState();
  // After a power cut it must not be the writer before that was closed.
  fdatasync(lock_fd_);
}

void SpoolDirectory::SayAlive(int64_t now_us, int64_t durable_us) {
  const std::lock_guard lock(mutex_);
  state_.alive_us = now_us;
  state_.durable_us = durable_us;
  WriteState();
}

void SpoolDirectory::SayTrouble(int64_t since_us, int64_t durable_us) {
  const std::lock_guard lock(mutex_);
  state_.durable_us = durable_us;
  state_.trouble_since_us = since_us;
  WriteState();
}

void SpoolDirectory::SayClosed(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  state_.alive_us = now_us;
  state_.durable_us = now_us;
  state_.trouble_since_us = 0;
  state_.is_closed = true;
  WriteState();
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
