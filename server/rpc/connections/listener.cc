#include "server/rpc/connections/listener.h"

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
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "process/log.h"
#include "server/admission/admission.h"
#include "server/rpc/connections/guarded_reads.h"

namespace sortition {
namespace {

constexpr int kReservedDescriptors = 64;

// How often a port looks at itself, and after how long without an answer it is
// taken for dead.
constexpr int64_t kCheckNanos = 1'000'000'000;
constexpr int64_t kPatienceNanos = 3'000'000'000;

absl::Status CannotListen(const std::string& option,
                          const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat(option, " = \"", address,
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

// Returns how many descriptors there are beyond `fd`.
int64_t DescriptorsBeyond(int fd) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT64_MAX;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT_MAX)) - fd;
}

bool IsShortOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM ||
         error == ENOBUFS;
}

}  // namespace

Listener::Listener(uint32_t reserved, Metrics* metrics,
                   ConnectionTable* connections)
    : reserved_(kReservedDescriptors + reserved),
      refused_(metrics->Counter(
          "sortition_connections_refused_total",
          "Connections closed at once, because descriptors are short")),
      ended_(metrics->Counter(
          "sortition_connections_ended_total",
          "Idle connections ended for others, because descriptors are short")),
      connections_(connections),
      end_(::eventfd(0, EFD_CLOEXEC)) {
  CHECK(end_ >= 0);
}

Listener::~Listener() {
  Stop();
  ::close(end_);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(
    const std::string& option, const std::string& address, uint32_t reserved,
    Metrics* metrics, ConnectionTable* connections) {
  const auto [host, port] = SplitAddress(address);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() ||
      ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return CannotListen(option, address);
  }
  const absl::Cleanup freer = [found] { ::freeaddrinfo(found); };
  auto listener =
      std::unique_ptr<Listener>(new Listener(reserved, metrics, connections));
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
    if (errno == EADDRINUSE || errno == EACCES)
      return CannotListen(option, address);
  }
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    if (!listener->Add(*next)) return CannotListen(option, address);
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
  port_ = LocalPort(fd);
  return true;
}

void Listener::Start(
    std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor,
    std::function<void(bool serves)> follow) {
  acceptor_ = std::move(acceptor);
  follow_ = std::move(follow);
  thread_ = std::thread(&Listener::Run, this);
}

void Listener::Stop() {
  if (thread_.joinable()) {
    CHECK(::eventfd_write(end_, 1) == 0);
    thread_.join();
  }
  if (check_.socket >= 0) ::close(std::exchange(check_.socket, -1));
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
}

void Listener::Run() {
  std::vector<pollfd> descriptors = {{end_, POLLIN, 0}};
  for (const int socket : sockets_) descriptors.push_back({socket, POLLIN, 0});
  while (true) {
    LookAtItself();
    const int64_t wait = std::max<int64_t>(next_check_ - MonotonicNanos(), 0);
    const int found = ::poll(descriptors.data(), descriptors.size(),
                             static_cast<int>(wait / 1'000'000) + 1);
    if (found < 0) continue;
    if (descriptors[0].revents != 0) return;
    for (const pollfd& descriptor : descriptors) {
      if (found > 0 && descriptor.revents != 0) Accept(descriptor.fd);
    }
  }
}

void Listener::Accept(int socket) {
  const int fd =
      ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (!IsShortOfDescriptors(errno)) return;  // The client has gone.
    NoteShort();
    // Not even one for a moment: others must give some back first.
    pollfd end = {end_, POLLIN, 0};
    ::poll(&end, 1, 50);
    return;
  }
  if (check_.socket >= 0 && PeerPort(fd) == check_.port) {
    ::close(fd);
    EndCheck(true);
    return;
  }
  if (!MakeRoom(fd)) {
    NoteShort();
    ::close(fd);
    return;
  }
  connections_->Add(fd);
  GuardSocket(fd);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
      connection;
  connection.listener_fd = socket;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

int64_t Listener::ReservedDescriptors() const {
  return std::min<int64_t>(reserved_, DescriptorsBeyond(0) / 4);
}

// gRPC takes a moment to close what was ended, and new connections do not wait
// for that: half of the reserve is for them.
bool Listener::MakeRoom(int fd) {
  const int64_t beyond = DescriptorsBeyond(fd);
  const int64_t reserved = ReservedDescriptors();
  if (beyond > reserved) {
    is_short_ = false;
    return true;
  }
  if (!connections_->EndIdlest()) return false;
  ended_->Increment();
  return beyond > reserved / 2;
}

void Listener::NoteShort() {
  refused_->Increment();
  if (std::exchange(is_short_, true)) return;
  LogError("descriptors are short: new connections are refused",
           {{"reserved", reserved_}});
}

void Listener::LookAtItself() {
  const int64_t now = MonotonicNanos();
  if (now < next_check_) return;
  next_check_ = now + kCheckNanos;
  if (check_.socket < 0) {
    BeginCheck();
  } else if (now - check_.start > kPatienceNanos) {
    EndCheck(false);
  }
}

void Listener::BeginCheck() {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(sockets_[num_checks_++ % sockets_.size()],
                reinterpret_cast<sockaddr*>(&address), &size);
  // To the address of all addresses: to this machine.
  check_.start = MonotonicNanos();
  check_.socket = ::socket(address.ss_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (check_.socket < 0) {
    if (IsShortOfDescriptors(errno)) EndCheck(false);
    return;
  }
  // Closed without a trace in the tables of the kernel.
  const linger at_once = {1, 0};
  ::setsockopt(check_.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  const bool is_done =
      ::connect(check_.socket, reinterpret_cast<sockaddr*>(&address), size) ==
      0;
  const int error = is_done ? 0 : errno;
  check_.port = LocalPort(check_.socket);
  if (error == 0 || error == EINPROGRESS) return;
  // Where a machine forbids it, nothing is known.
  if (error == ECONNREFUSED) {
    EndCheck(false);
  } else {
    ::close(std::exchange(check_.socket, -1));
  }
}

void Listener::EndCheck(bool serves) {
  if (check_.socket >= 0) ::close(std::exchange(check_.socket, -1));
  if (std::exchange(serves_, serves) == serves) return;
  if (serves) {
    LogInfo("the port takes connections again", {{"port", port_}});
  } else {
    LogError("the port takes no connections: health is NOT_SERVING",
             {{"port", port_}});
  }
  follow_(serves);
}

}  // namespace sortition
