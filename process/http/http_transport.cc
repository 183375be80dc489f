#include "process/http/http_transport.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status Failure(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// Waits until the socket can be read or written.
absl::Status Await(int fd, short events, Clock::time_point end) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) {
      return absl::DeadlineExceededError("no whole answer in time");
    }
    pollfd wait = {fd, events, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Failure("cannot wait", errno);
  }
}

// Returns a socket that does not block and is connected.
absl::StatusOr<int> Connect(const addrinfo& address, Clock::time_point end) {
  const int fd = ::socket(address.ai_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failure("cannot connect", errno);
  absl::Cleanup closer = [fd] { ::close(fd); };
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return Failure("cannot connect", errno);
    RETURN_IF_ERROR(Await(fd, POLLOUT, end));
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return Failure("cannot connect", error);
  }
  std::move(closer).Cancel();
  return fd;
}

absl::StatusOr<int> ConnectTo(const std::string& address,
                              Clock::time_point end) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (colon == std::string::npos || host.empty() ||
      colon + 1 == address.size()) {
    return absl::InvalidArgumentError("must be HOST:PORT");
  }
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(
      host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot find the host: ", ::gai_strerror(error)));
  }
  const absl::Cleanup freer = [found] { ::freeaddrinfo(found); };
  absl::StatusOr<int> fd = absl::UnavailableError("no address");
  for (const addrinfo* next = found; next != nullptr && !fd.ok();
       next = next->ai_next) {
    fd = Connect(*next, end);
  }
  return fd;
}

absl::Status Send(int fd, absl::string_view request, Clock::time_point end) {
  while (!request.empty()) {
    RETURN_IF_ERROR(Await(fd, POLLOUT, end));
    const ssize_t sent =
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return Failure("cannot ask", errno);
    }
    request.remove_prefix(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  }
  return absl::OkStatus();
}

constexpr char kEndOfHead[] = "\r\n\r\n";
constexpr size_t kHeadEndSize = 4;

// Returns the value of Content-Length.
std::optional<uint64_t> LengthOf(absl::string_view head) {
  for (const absl::string_view line : absl::StrSplit(head, "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    uint64_t length = 0;
    if (absl::EqualsIgnoreCase(field.first, "content-length") &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(field.second), &length)) {
      return length;
    }
  }
  return std::nullopt;
}

// Reads until the other end closes, or the answer is as long as it says.
absl::StatusOr<std::string> Receive(int fd, size_t most,
                                    Clock::time_point end) {
  std::string answer;
  size_t end_of_head = std::string::npos;
  uint64_t whole = most + 1;
  std::array<char, 1 << 16> buffer;
  while (answer.size() < whole) {
    RETURN_IF_ERROR(Await(fd, POLLIN, end));
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got == 0) break;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return Failure("cannot read the answer", errno);
    // The end of the head may have come in parts.
    const size_t next = answer.size() - std::min<size_t>(answer.size(), 3);
    answer.append(buffer.data(), static_cast<size_t>(got));
    if (answer.size() > most) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the answer has more than ", most, " bytes"));
    }
    if (end_of_head != std::string::npos) continue;
    end_of_head = answer.find(kEndOfHead, next);
    if (end_of_head == std::string::npos) continue;
    const absl::string_view head =
        absl::string_view(answer).substr(0, end_of_head);
    const std::optional<uint64_t> length = LengthOf(head);
    if (length.has_value()) {
      whole = end_of_head + kHeadEndSize + std::min<uint64_t>(*length, most);
    }
  }
  return answer;
}

}  // namespace

absl::StatusOr<std::string> ExchangeHttp(const std::string& address,
                                         absl::string_view request,
                                         const HttpGetLimits& limits) {
  const Clock::time_point end = Clock::now() + limits.time;
  ASSIGN_OR_RETURN(const int fd, ConnectTo(address, end));
  const absl::Cleanup closer = [fd] { ::close(fd); };
  RETURN_IF_ERROR(Send(fd, request, end));
  return Receive(fd, limits.bytes, end);
}

absl::StatusOr<HttpParts> SplitHttpAnswer(absl::string_view answer) {
  const size_t end = answer.find(kEndOfHead);
  if (end == absl::string_view::npos || !absl::StartsWith(answer, "HTTP/1.")) {
    return absl::DataLossError("the answer is not one of HTTP");
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(answer.substr(0, answer.find("\r\n")), ' ');
  HttpParts parts;
  if (words.size() >= 2) parts.status = words[1];
  parts.body = answer.substr(end + kHeadEndSize);
  const std::optional<uint64_t> length = LengthOf(answer.substr(0, end));
  parts.is_whole = !length.has_value() || parts.body.size() == *length;
  return parts;
}

absl::Status NameAddress(const std::string& address,
                         const absl::Status& error) {
  return absl::Status(
      error.code(),
      absl::StrCat(address.empty() ? "\"\"" : address, ": ", error.message()));
}

}  // namespace sortition
