#include "process/service/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "process/log.h"

namespace sortition {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Sends `state` to the socket at `path`, where '@' stands for the zero byte of
// an abstract name. Returns 0 or the error number. `flags`: MSG_DONTWAIT or 0.
int SendTo(const std::string& path, absl::string_view state, int flags) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const ssize_t sent = ::sendto(
      descriptor, state.data(), state.size(), MSG_NOSIGNAL | flags,
      reinterpret_cast<const sockaddr*>(&address),
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
  const int error = sent < 0 ? errno : 0;
  ::close(descriptor);
  return error;
}

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Supervisor Supervisor::FromEnvironment() {
  Supervisor supervisor;
  supervisor.socket_ = Variable("NOTIFY_SOCKET");
  int64_t micros = 0;
  int64_t process = ::getpid();
  const std::string named = Variable("WATCHDOG_PID");
  if (!supervisor.socket_.empty() &&
      absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &micros) && micros > 0 &&
      (named.empty() || absl::SimpleAtoi(named, &process)) &&
      process == ::getpid()) {
    constexpr double kShare = 0.25;
    supervisor.alive_seconds_ = kShare * 1e-6 * static_cast<double>(micros);
  }
  return supervisor;
}

void Supervisor::Ready() {
  if (!std::exchange(is_ready_, true)) Send("READY=1", 0);
}

void Supervisor::Alive() {
  if (alive_seconds_ < 0) return;
  // Half of the time between two calls: whoever calls in time is heard.
  const int64_t now = NowNanos();
  if (was_alive_ &&
      static_cast<double>(now - last_alive_ns_) < 0.5e9 * alive_seconds_) {
    return;
  }
  was_alive_ = true;
  last_alive_ns_ = now;
  Send("WATCHDOG=1", MSG_DONTWAIT);
}

void Supervisor::Stopping() {
  if (!std::exchange(is_stopping_, true)) Send("STOPPING=1", 0);
}

void Supervisor::Send(absl::string_view state, int flags) {
  if (socket_.empty()) return;
  const int error = SendTo(socket_, state, flags);
  if (error == 0 || std::exchange(has_failed_, true)) return;
  LogWarning("the supervisor is not told", {{"NOTIFY_SOCKET", socket_},
                                            {"state", state},
                                            {"error", std::strerror(error)}});
}

}  // namespace sortition
