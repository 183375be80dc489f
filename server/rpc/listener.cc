#include "server/rpc/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr int kReservedDescriptors = 64;

absl::Status CannotListen(const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat("listen = \"", address,
                   "\": cannot listen there; must be a free host:port of this "
                   "machine"));
}

// Returns the host, without the brackets of an IPv6 address, and the port; two
// empty texts if `address` has no port.
std::pair<std::string, std::string> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return {};
  std::string host = address.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

// The descriptor `fd` is one of the last that this process may have.
bool IsReserved(int fd) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const rlim_t reserved =
      std::min<rlim_t>(kReservedDescriptors, limit.rlim_cur / 4);
  return static_cast<rlim_t>(fd) >= limit.rlim_cur - reserved;
}

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
        0);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Listener::Listener(Metrics* metrics)
    : refused_(metrics->Counter(
          "sortition_connections_refused_total",
          "Connections closed at once, because descriptors are short")),
      end_(::eventfd(0, EFD_CLOEXEC)) {
  CHECK(end_ >= 0);
}

Listener::~Listener() {
  Stop();
  ::close(end_);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(
    const std::string& address, Metrics* metrics) {
  const auto [host, port] = SplitAddress(address);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() ||
      ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return CannotListen(address);
  }
  const absl::Cleanup freer = [found] { ::freeaddrinfo(found); };
  auto listener = std::unique_ptr<Listener>(new Listener(metrics));
  // One socket for both families, where the kernel has both.
  if (host == "0.0.0.0" || host == "::") {
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port =
        found->ai_family == AF_INET6
            ? reinterpret_cast<sockaddr_in6*>(found->ai_addr)->sin6_port
            : reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_port;
    addrinfo both = *found;
    both.ai_family = AF_INET6;
    both.ai_addr = reinterpret_cast<sockaddr*>(&any);
    both.ai_addrlen = sizeof(any);
    if (listener->Add(both)) return listener;
    if (errno == EADDRINUSE || errno == EACCES) return CannotListen(address);
  }
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    if (!listener->Add(*next)) return CannotListen(address);
  }
  return listener;
}

bool Listener::Add(const addrinfo& address) {
  const int fd = ::socket(address.ai_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_storage place = {};
  std::memcpy(&place, address.ai_addr, address.ai_addrlen);
  // Further addresses get the port that the first one picked.
  if (port_ != 0 && address.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&place)->sin6_port =
        htons(static_cast<uint16_t>(port_));
  } else if (port_ != 0) {
    reinterpret_cast<sockaddr_in*>(&place)->sin_port =
        htons(static_cast<uint16_t>(port_));
  }
  const int yes = 1;
  const int no = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  // Connections inherit it.
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (address.ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  }
  if (::bind(fd, reinterpret_cast<sockaddr*>(&place), address.ai_addrlen) !=
          0 ||
      ::listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  sockets_.push_back(fd);
  port_ = PortOf(fd);
  return true;
}

void Listener::Start(
    std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread(&Listener::Run, this);
}

void Listener::Stop() {
  if (thread_.joinable()) {
    CHECK(::eventfd_write(end_, 1) == 0);
    thread_.join();
  }
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
}

void Listener::Run() {
  std::vector<pollfd> descriptors = {{end_, POLLIN, 0}};
  for (const int socket : sockets_) descriptors.push_back({socket, POLLIN, 0});
  while (true) {
    if (::poll(descriptors.data(), descriptors.size(), -1) < 0) continue;
    if (descriptors[0].revents != 0) return;
    for (const pollfd& descriptor : descriptors) {
      if (descriptor.revents != 0) Accept(descriptor.fd);
    }
  }
}

void Listener::Accept(int socket) {
  const int fd =
      ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  const bool is_short = fd < 0 ? errno == EMFILE || errno == ENFILE ||
                                     errno == ENOMEM || errno == ENOBUFS
                               : IsReserved(fd);
  if (is_short && !std::exchange(is_short_, true)) {
    LogError("descriptors are short: new connections are refused",
             {{"reserved", kReservedDescriptors}});
  }
  if (is_short) {
    refused_->Increment();
    if (fd >= 0) ::close(fd);
    // Not even one for a moment: others must give some back first.
    pollfd end = {end_, POLLIN, 0};
    if (fd < 0) ::poll(&end, 1, 50);
    return;
  }
  if (fd < 0) return;  // The client has gone.
  is_short_ = false;
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
      connection;
  connection.listener_fd = socket;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

}  // namespace sortition
