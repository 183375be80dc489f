#include "process/http/socket_addresses.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

// Returns an address as "127.0.0.1:80" or "[::1]:80"; empty: it is neither.
std::string AddressText(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
      ::getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return address->sa_family == AF_INET6 ? absl::StrCat("[", host, "]:", port)
                                        : absl::StrCat(host, ":", port);
}

// Whether this machine has the address, whether or not its port is free.
bool HasAddress(const addrinfo& address) {
  const int fd =
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return false;
  const bool is_bound = ::bind(fd, address.ai_addr, address.ai_addrlen) == 0;
  const int error = errno;
  ::close(fd);
  return is_bound || error == EADDRINUSE || error == EACCES;
}

}  // namespace

std::vector<std::string> FindAddresses(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return {};
  std::string host = address.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() ||
      ::getaddrinfo(host.c_str(), &address[colon + 1], &hints, &found) != 0) {
    return {};
  }
  const absl::Cleanup freer = [found] { ::freeaddrinfo(found); };
  std::vector<std::string> addresses;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    std::string text = AddressText(next->ai_addr, next->ai_addrlen);
    if (!text.empty() && HasAddress(*next)) {
      addresses.push_back(std::move(text));
    }
  }
  return addresses;
}

bool IsLoopbackAddress(absl::string_view address) {
  return absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "[::1]:");
}

std::vector<int> FindListeningSockets(
    const std::vector<std::string>& addresses) {
  std::vector<int> sockets;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = -1;
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (!absl::SimpleAtoi(entry.path().filename().string(), &fd) ||
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        listens == 0) {
      continue;
    }
    sockaddr_storage place = {};
    size = sizeof(place);
    auto* const name = reinterpret_cast<sockaddr*>(&place);
    if (::getsockname(fd, name, &size) == 0 &&
        std::find(addresses.begin(), addresses.end(),
                  AddressText(name, size)) != addresses.end()) {
      sockets.push_back(fd);
    }
  }
  return sockets;
}

}  // namespace sortition
