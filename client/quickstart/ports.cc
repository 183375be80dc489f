#include "client/quickstart/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Binds the socket; returns the port, or 0 if it is not free.
int Bind(int fd, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, generic, size) != 0 || getsockname(fd, generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

}  // namespace

absl::StatusOr<std::vector<int>> FreePorts(const std::vector<int>& wanted) {
  // Held until all are known, so that none is found twice.
  std::vector<int> sockets;
  const absl::Cleanup closer = [&sockets] {
    for (const int fd : sockets) close(fd);
  };
  std::vector<int> ports;
  for (const int port : wanted) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) sockets.push_back(fd);
    // Connections of an earlier server that linger do not take its port.
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    int found = Bind(fd, port);
    if (found == 0) found = Bind(fd, 0);
    if (found == 0) {
      return absl::UnavailableError(
          absl::StrCat("no port is free on 127.0.0.1: ", std::strerror(errno)));
    }
    ports.push_back(found);
  }
  return ports;
}

}  // namespace sortition
