// A library to preload into a program: a file system as seen through some
// networks. It reports no changes (inotify fails), and below the directory
// $SORTITION_LATE_DIRECTORY a new entry is listed only $SORTITION_LATE_SECONDS
// after the program has first looked for it; by its name it is there at once.
#include <dirent.h>
#include <dlfcn.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

double Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

std::string PathOf(DIR* dir) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(dirfd(dir));
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size < 0 ? "" : std::string(path, static_cast<size_t>(size));
}

// Whether the entry is not listed yet.
bool IsLate(DIR* dir, const std::string& name) {
  static const char* const kBelow = getenv("SORTITION_LATE_DIRECTORY");
  static const char* const kSeconds = getenv("SORTITION_LATE_SECONDS");
  static auto* const kMutex = new std::mutex;
  static auto* const kFirstSeen = new std::map<std::string, double>;
  if (kBelow == nullptr || kSeconds == nullptr || name[0] == '.') return false;
  const std::string path = PathOf(dir);
  if (path.find(kBelow) != 0) return false;
  const double now = Now();
  const std::lock_guard lock(*kMutex);
  const double seen = kFirstSeen->emplace(path + "/" + name, now).first->second;
  return now < seen + atof(kSeconds);
}

}  // namespace

extern "C" {

int inotify_init1(int) noexcept {
  errno = EMFILE;
  return -1;
}

dirent* readdir(DIR* dir) {
  static const auto kReal =
      reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  dirent* entry = kReal(dir);
  while (entry != nullptr && IsLate(dir, entry->d_name)) entry = kReal(dir);
  return entry;
}

dirent64* readdir64(DIR* dir) {
  // On 64-bit systems both are one.
  return reinterpret_cast<dirent64*>(readdir(dir));
}

}  // extern "C"
