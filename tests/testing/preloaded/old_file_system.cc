// A library to preload into a program: renameat2(2) is refused as it is on NFS
// and on other file systems without RENAME_NOREPLACE.
#include <cerrno>

extern "C" int renameat2(int, const char*, int, const char*, unsigned) {
  errno = EINVAL;
  return -1;
}
