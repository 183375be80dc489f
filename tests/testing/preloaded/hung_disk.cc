// A library to preload into a program: while the file $SORTITION_HUNG_DISK
// exists, the disk does not answer. pwritev(2) and fdatasync(2) wait until the
// file is gone.
#include <dlfcn.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void WaitForDisk() {
  constexpr int kPollMillis = 10;
  static const char* const kHung = getenv("SORTITION_HUNG_DISK");
  while (kHung != nullptr && access(kHung, F_OK) == 0) {
    poll(nullptr, 0, kPollMillis);
  }
}

using Pwritev = ssize_t (*)(int, const iovec*, int, off_t);

ssize_t Write(const char* name, int fd, const iovec* pieces, int count,
              off_t offset) {
  WaitForDisk();
  return reinterpret_cast<Pwritev>(dlsym(RTLD_NEXT, name))(fd, pieces, count,
                                                           offset);
}

}  // namespace

extern "C" {

ssize_t pwritev(int fd, const iovec* pieces, int count, off_t offset) {
  return Write("pwritev", fd, pieces, count, offset);
}

ssize_t pwritev64(int fd, const iovec* pieces, int count, off64_t offset) {
  return Write("pwritev64", fd, pieces, count, offset);
}

int fdatasync(int fd) {
  static const auto kReal =
      reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fdatasync"));
  WaitForDisk();
  return kReal(fd);
}

}  // extern "C"
