#include "io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "io/posix_status.h"

namespace sortition {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = path == "-" ? dup(STDIN_FILENO)
                             : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  std::string contents;
  char buffer[65536];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count == 0) return contents;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot read");
    contents.append(buffer, static_cast<size_t>(count));
  }
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot create");
  absl::Cleanup remover = [&] { unlink(temporary.c_str()); };
  {
    const absl::Cleanup closer = [fd] { close(fd); };
    while (!contents.empty()) {
      const ssize_t count = write(fd, contents.data(), contents.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return PosixStatus(errno, path, "cannot write");
      contents.remove_prefix(static_cast<size_t>(count));
    }
    if (fsync(fd) != 0) return PosixStatus(errno, path, "cannot sync");
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return PosixStatus(errno, path, "cannot rename to");
  }
  std::move(remover).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& dir) {
  DIR* const entries = opendir(dir.c_str());
  if (entries == nullptr) return PosixStatus(errno, dir, "cannot list");
  const absl::Cleanup closer = [entries] { closedir(entries); };
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(entries);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return PosixStatus(errno, dir, "cannot list");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sortition
