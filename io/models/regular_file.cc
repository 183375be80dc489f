#include "io/models/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "io/posix_status.h"

namespace sortition {

absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            uint64_t max_bytes) {
  // A pipe without a writer would otherwise be waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  struct stat status = {};
  if (fstat(fd, &status) != 0) return PosixStatus(errno, path, "cannot stat");
  if (!S_ISREG(status.st_mode)) {
    return absl::DataLossError(
        absl::StrCat(path, " is not a regular file, must be one"));
  }
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > max_bytes) {
    return absl::DataLossError(absl::StrCat(
        path, " has ", bytes, " bytes, must have at most ", max_bytes));
  }
  std::string contents(bytes, '\0');
  size_t size = 0;
  while (size < contents.size()) {
    const ssize_t count = read(fd, &contents[size], contents.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot read");
    if (count == 0) break;  // It has become shorter.
    size += static_cast<size_t>(count);
  }
  contents.resize(size);
  return contents;
}

}  // namespace sortition
