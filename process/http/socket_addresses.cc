#include "process/http/socket_addresses.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

// Returns an address of IPv4 as "127.0.0.1:80"; empty: it is another one.
std::string AddressText(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (address->sa_family != AF_INET ||
      ::getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return absl::StrCat(host, ":", port);
}

struct Addresses {
  addrinfo* first = nullptr;  // Null: it is wrong.
  ~Addresses() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

// Resolves "host:port".
void Resolve(const std::string& address, Addresses* found) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return;
  }
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (::getaddrinfo(address.substr(0, colon).c_str(), &address[colon + 1],
                    &hints, &found->first) != 0) {
    found->first = nullptr;
  }
}

// Returns why nobody could listen at the address now; 0: somebody could.
int ListenError(const addrinfo& address) {
  const int fd =
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return errno;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool is_free = ::bind(fd, address.ai_addr, address.ai_addrlen) == 0 &&
                       ::listen(fd, 1) == 0;
  const int error = is_free ? 0 : errno;
  ::close(fd);
  return error;
}

}  // namespace

std::vector<std::string> FindAddresses(const std::string& address) {
  Addresses found;
  Resolve(address, &found);
  std::vector<std::string> addresses;
  for (const addrinfo* next = found.first; next != nullptr;
       next = next->ai_next) {
    std::string text = AddressText(next->ai_addr, next->ai_addrlen);
    const int error = ListenError(*next);
    // The machine has it, whether or not its port is free.
    if (!text.empty() &&
        (error == 0 || error == EADDRINUSE || error == EACCES)) {
      addresses.push_back(std::move(text));
    }
  }
  return addresses;
}

bool IsFree(const std::string& address) {
  Addresses found;
  Resolve(address, &found);
  bool has_any = false;
  for (const addrinfo* next = found.first; next != nullptr;
       next = next->ai_next) {
    const int error = ListenError(*next);
    if (error == EADDRINUSE || error == EACCES) return false;
    has_any = has_any || error == 0;
  }
  return has_any;
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
