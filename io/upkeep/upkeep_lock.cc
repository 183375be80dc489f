#include "io/upkeep/upkeep_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "io/posix_status.h"

namespace sortition {

absl::StatusOr<UpkeepLock> UpkeepLock::Take(const std::string& dir) {
  const std::string path = dir + "/.upkeep.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  while (flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int error = errno;
    close(fd);
    return PosixStatus(error, path, "cannot lock");
  }
  return UpkeepLock(fd);
}

UpkeepLock::~UpkeepLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace sortition
