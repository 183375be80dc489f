#pragma once
// Keeps programs that replace closed segments of a directory apart.
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace sortition {

// Holds flock(2) on <dir>/.upkeep.lock until destroyed; the kernel releases it
// when the process dies. A sidecar holds it while it compresses and removes
// segments of its output, `log erase` while it rewrites some: otherwise one
// could bring back what the other took away.
class UpkeepLock {
 public:
  // Waits until no other process has it. Makes the file if it is missing.
  // PermissionDenied or Unavailable, naming the file, if that fails.
  static absl::StatusOr<UpkeepLock> Take(const std::string& dir);
  UpkeepLock(UpkeepLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UpkeepLock& operator=(UpkeepLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UpkeepLock();

 private:
  explicit UpkeepLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sortition
