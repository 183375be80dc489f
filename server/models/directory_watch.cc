#include "server/models/directory_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>

namespace sortition {

DirectoryWatch::DirectoryWatch()
    : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

DirectoryWatch::~DirectoryWatch() {
  if (inotify_ >= 0) ::close(inotify_);
  if (wake_ >= 0) ::close(wake_);
}

void DirectoryWatch::Add(const std::string& directory) {
  if (inotify_ < 0) return;
  ::inotify_add_watch(inotify_, directory.c_str(),
                      IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                          IN_CLOSE_WRITE | IN_ONLYDIR);
}

void DirectoryWatch::Wait(double timeout_seconds) {
  // poll() ignores negative descriptors.
  pollfd descriptors[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  // If a signal ends the wait early, the caller only looks once too often.
  ::poll(descriptors, 2, static_cast<int>(timeout_seconds * 1000 + 0.999));
  alignas(inotify_event) char buffer[4096];
  while (inotify_ >= 0 && ::read(inotify_, buffer, sizeof(buffer)) > 0) {
  }
  uint64_t count = 0;
  while (wake_ >= 0 && ::read(wake_, &count, sizeof(count)) > 0) {
  }
}

void DirectoryWatch::Wake() {
  const uint64_t one = 1;
  // Fails only if the counter is full, and then the wait ends anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
}

}  // namespace sortition
