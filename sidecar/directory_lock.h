#pragma once
// Ensures that only one sidecar works on a directory.
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace sortition {

// Holds flock(2) on <dir>/sidecar.lock until destroyed; the kernel releases it
// when the process dies.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  // FailedPrecondition if another process holds it.
  static absl::StatusOr<DirectoryLock> Take(const std::string& dir);
  DirectoryLock(DirectoryLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sortition
