#include "process/http/page_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "process/http/same_site.h"

namespace sortition {
namespace {

constexpr size_t kMaxRequestBytes = 1 << 14;
// How many connections are taken before the others are served again.
constexpr int kAcceptedAtOnce = 8;
// How long to leave the port alone where no descriptor is left.
constexpr int kShortMilliseconds = 50;

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

std::string AnswerText(absl::string_view status, absl::string_view type,
                       absl::string_view body, bool has_body = true) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(),
                      "\r\nConnection: close\r\n\r\n", has_body ? body : "");
}

std::string Refusal(absl::string_view status) {
  return AnswerText(status, "text/plain; charset=utf-8",
                    absl::StrCat(status, "\n"));
}

// Returns the value of the header Host; empty: there is none.
absl::string_view HostOfRequest(absl::string_view request) {
  for (absl::string_view line : absl::StrSplit(request, '\n')) {
    constexpr absl::string_view kName = "host:";
    if (!absl::StartsWithIgnoreCase(line, kName)) continue;
    return absl::StripAsciiWhitespace(line.substr(kName.size()));
  }
  return {};
}

bool IsReadable(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

// Whether a call failed only because it would have to wait.
bool WouldWait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

PageServer::PageServer(Page page)
    : page_(std::move(page)), end_(::eventfd(0, EFD_CLOEXEC)) {
  CHECK(end_ >= 0);
}

PageServer::~PageServer() {
  if (thread_.joinable()) {
    CHECK(::eventfd_write(end_, 1) == 0);
    thread_.join();
  }
  for (const int socket : sockets_) ::close(socket);
  for (const Connection& connection : connections_) ::close(connection.fd);
  ::close(end_);
}

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Open(
    absl::string_view option, const std::string& address, Page page) {
  const absl::Status cannot = absl::UnavailableError(absl::StrCat(
      option, " = \"", address,
      "\": cannot listen there; must be a free host:port of this machine"));
  const auto [host, port] = SplitAddress(address);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (host.empty() ||
      ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return cannot;
  }
  const absl::Cleanup freer = [found] { ::freeaddrinfo(found); };
  auto server = std::unique_ptr<PageServer>(new PageServer(std::move(page)));
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    // A name may have an address of a family that this machine has not.
    if (!server->Add(*next) && errno != EADDRNOTAVAIL &&
        errno != EAFNOSUPPORT) {
      return cannot;
    }
  }
  if (server->sockets_.empty()) return cannot;
  server->is_loopback_ = IsLoopbackHost(address);
  server->thread_ = std::thread(&PageServer::Run, server.get());
  return server;
}

bool PageServer::Add(const addrinfo& address) {
  const int fd = ::socket(address.ai_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_storage place = {};
  std::memcpy(&place, address.ai_addr, address.ai_addrlen);
  // sin_port and sin6_port are at the same place; further addresses get the
  // port that the first one picked.
  auto* const in = reinterpret_cast<sockaddr_in*>(&place);
  if (port_ != 0) in->sin_port = htons(static_cast<uint16_t>(port_));
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  socklen_t size = address.ai_addrlen;
  auto* const name = reinterpret_cast<sockaddr*>(&place);
  if (::bind(fd, name, size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, name, &size) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  sockets_.push_back(fd);
  port_ = ntohs(in->sin_port);
  return true;
}

void PageServer::Run() {
  while (Wait()) {
    const Clock::time_point now = Clock::now();
    // Those that are there before those that come, so that no number of these
    // closes one whose request has come.
    for (auto next = connections_.begin(); next != connections_.end();) {
      const bool is_over = now - next->start >= kLongest;
      if (!is_over && Serve(&*next)) {
        ++next;
        continue;
      }
      ::close(next->fd);
      next = connections_.erase(next);
    }
    for (const int socket : sockets_) {
      for (int i = 0; i < kAcceptedAtOnce; ++i) Accept(socket);
    }
  }
}

bool PageServer::Wait() {
  std::vector<pollfd> waits = {{end_, POLLIN, 0}};
  for (const int socket : sockets_) {
    if (!is_short_) waits.push_back({socket, POLLIN, 0});
  }
  for (const Connection& connection : connections_) {
    const bool is_writing =
        !connection.answer.empty() && !connection.is_answered;
    waits.push_back({connection.fd,
                     static_cast<int16_t>(is_writing ? POLLOUT : POLLIN), 0});
  }
  int milliseconds = -1;
  if (!connections_.empty()) {
    const auto left = connections_.front().start + kLongest - Clock::now();
    milliseconds = static_cast<int>(std::clamp<int64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1,
        0, 1000 * kLongest.count()));
  }
  if (std::exchange(is_short_, false)) milliseconds = kShortMilliseconds;
  ::poll(waits.data(), waits.size(), milliseconds);
  return waits[0].revents == 0;
}

void PageServer::Accept(int socket) {
  const int fd =
      ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  const bool is_short = fd < 0 && (errno == EMFILE || errno == ENFILE ||
                                   errno == ENOMEM || errno == ENOBUFS);
  if (fd < 0 && !is_short) return;
  // Without a free descriptor, accept() fails even if no client is waiting.
  if (is_short && !IsReadable(socket)) return;
  if (is_short || connections_.size() == kMaxConnections) {
    is_short_ = is_short && connections_.empty();
    if (!connections_.empty()) {
      ::close(connections_.front().fd);
      connections_.pop_front();
    }
  }
  if (fd < 0) return;
  Connection& connection = connections_.emplace_back();
  connection.fd = fd;
  connection.start = Clock::now();
  // Most have sent their request by now.
  if (!Serve(&connection)) {
    ::close(fd);
    connections_.pop_back();
  }
}

bool PageServer::Serve(Connection* connection) const {
  if (connection->answer.empty() || connection->is_answered) {
    if (!Read(connection)) return false;
  }
  return connection->answer.empty() || connection->is_answered ||
         Write(connection);
}

bool PageServer::Read(Connection* connection) const {
  char buffer[4096];
  const ssize_t read = ::recv(connection->fd, buffer, sizeof(buffer), 0);
  if (read < 0) return WouldWait();
  // The client has gone, or has read its answer.
  if (read == 0) return false;
  std::string& request = connection->request;
  request.append(buffer, static_cast<size_t>(read));
  // There is one answer; whoever goes on talking is not heard for long.
  if (connection->is_answered) return request.size() <= kMaxRequestBytes;
  if (absl::StrContains(request, "\r\n\r\n") ||
      absl::StrContains(request, "\n\n")) {
    connection->answer = Answer(request);
  } else if (request.size() > kMaxRequestBytes) {
    connection->answer = Refusal("431 Request Header Fields Too Large");
  }
  return true;
}

bool PageServer::Write(Connection* connection) {
  const std::string& answer = connection->answer;
  while (connection->sent < answer.size()) {
    const ssize_t sent =
        ::send(connection->fd, answer.data() + connection->sent,
               answer.size() - connection->sent, MSG_NOSIGNAL);
    if (sent < 0) return WouldWait();
    connection->sent += static_cast<size_t>(sent);
  }
  // Closed only when the client has read it: a close with bytes of the client
  // unread would take back what it has not read yet.
  connection->is_answered = true;
  return ::shutdown(connection->fd, SHUT_WR) == 0;
}

std::string PageServer::Answer(absl::string_view request) const {
  const absl::string_view line =
      request.substr(0, request.find_first_of("\r\n"));
  const bool is_head = absl::StartsWith(line, "HEAD ");
  if (!is_head && !absl::StartsWith(line, "GET ")) {
    return Refusal("405 Method Not Allowed");
  }
  absl::string_view path = line.substr(line.find(' ') + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  if (path != page_.path) return Refusal("404 Not Found");
  // Only programs of this machine can reach the port. A browser is one, and the
  // DNS of a site can send it here.
  const absl::string_view host = HostOfRequest(request);
  if (is_loopback_ && !host.empty() && !IsOfThisMachine(host)) {
    return Refusal("403 Forbidden");
  }
  return AnswerText("200 OK", page_.content_type, page_.make(), !is_head);
}

}  // namespace sortition
