#pragma once
// What a supervisor hears from the service that it started: sd_notify(3).
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/check.h"

namespace sortition {

// A datagram socket at `path`, which must be shorter than 108 bytes. While it
// lives, NOTIFY_SOCKET and WATCHDOG_USEC are set for this process and those
// that it starts.
class NotifySocket {
 public:
  NotifySocket(const std::string& path, int watchdog_micros)
      : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    CHECK(path.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.data(), path.size());
    CHECK(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) == 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    ::setenv("WATCHDOG_USEC", std::to_string(watchdog_micros).c_str(), 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::close(descriptor_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // Returns the next datagram; "" where none comes in time.
  std::string Next(double timeout_seconds) {
    pollfd descriptor = {descriptor_, POLLIN, 0};
    if (::poll(&descriptor, 1, static_cast<int>(timeout_seconds * 1000)) != 1) {
      return "";
    }
    char bytes[256];
    const ssize_t size = ::recv(descriptor_, bytes, sizeof(bytes), 0);
    return size < 0 ? "" : std::string(bytes, size);
  }

 private:
  const int descriptor_;
};

}  // namespace sortition
