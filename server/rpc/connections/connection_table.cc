#include "server/rpc/connections/connection_table.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/admission/admission.h"

namespace sortition {
namespace {

constexpr auto kIdleMilliseconds =
    static_cast<uint32_t>(1000 * ConnectionTable::kIdleSeconds);
// All connections are looked at so often at most.
constexpr int64_t kLookNanos = 100'000'000;

uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// Returns 0 where there is no such socket.
ino_t InodeOf(int socket) {
  struct stat found = {};
  return ::fstat(socket, &found) == 0 && S_ISSOCK(found.st_mode) ? found.st_ino
                                                                 : 0;
}

// Returns for how long nothing has come over the connection; 0 where it is
// unknown.
uint32_t SilentMilliseconds(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_last_data_recv;
}

}  // namespace

void ConnectionTable::Add(int socket) {
  const Connection connection = {InodeOf(socket), PeerPort(socket)};
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(socket);
  if (connections_.size() <= index) connections_.resize(index + 1);
  connections_[index] = connection;
}

bool ConnectionTable::EndIdlest() {
  const std::lock_guard lock(mutex_);
  while (true) {
    if (idle_.empty()) {
      if (MonotonicNanos() - found_ < kLookNanos) return false;
      FindIdle();
      if (idle_.empty()) return false;
    }
    const Idle idle = idle_.back();
    idle_.pop_back();
    if (End(idle)) return true;
  }
}

void ConnectionTable::FindIdle() {
  found_ = MonotonicNanos();
  for (size_t i = 0; i < connections_.size(); ++i) {
    const int socket = static_cast<int>(i);
    const Connection& connection = connections_[i];
    if (connection.inode == 0 || calls_[connection.port] > 0) continue;
    const uint32_t silent = SilentMilliseconds(socket);
    if (silent >= kIdleMilliseconds) idle_.push_back({socket, silent});
  }
  std::sort(idle_.begin(), idle_.end(), [](const Idle& a, const Idle& b) {
    return a.milliseconds < b.milliseconds;
  });
}

bool ConnectionTable::End(const Idle& idle) {
  Connection& connection = connections_[static_cast<size_t>(idle.socket)];
  // A copy cannot become another file while it is looked at.
  const int copy = ::fcntl(idle.socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  const absl::Cleanup closer = [copy] { ::close(copy); };
  const ino_t inode = InodeOf(copy);
  if (inode != connection.inode) {
    connection = {};
    return false;
  }
  if (calls_[connection.port] > 0 ||
      SilentMilliseconds(copy) < idle.milliseconds) {
    return false;
  }
  connection = {};
  return ::shutdown(copy, SHUT_RDWR) == 0;
}

CallMark::CallMark(ConnectionTable* table, const std::string& peer)
    : calls_([&] {
        const absl::string_view text(peer);
        uint32_t port = 0;
        if (!absl::SimpleAtoi(text.substr(text.rfind(':') + 1), &port)) {
          port = 0;
        }
        return &table->calls_[port & 0xffff];
      }()) {
  ++*calls_;
}

CallMark::~CallMark() { --*calls_; }

uint16_t PeerPort(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  return ::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
                 0
             ? PortOf(address)
             : 0;
}

std::string PeerAddress(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char host[INET6_ADDRSTRLEN] = {};
  char port[8] = {};
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(socket, name, &size) != 0 ||
      ::getnameinfo(name, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return absl::StrCat(host, ":", port);
}

uint16_t LocalPort(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
                 0
             ? PortOf(address)
             : 0;
}

}  // namespace sortition
