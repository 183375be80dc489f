#include "process/http/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostBytes = size_t{64} << 20;

absl::Status NoAnswer(const std::string& address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(address, ": ", why));
}

// Limits the next call on the socket to the time that is left.
bool LimitTime(int fd, Clock::time_point end) {
  const double left = std::chrono::duration<double>(end - Clock::now()).count();
  if (left <= 0) return false;
  timeval limit = {};
  limit.tv_sec = static_cast<time_t>(std::floor(left));
  constexpr double kUsPerSecond = 1e6;
  limit.tv_usec = static_cast<suseconds_t>(
      std::max((left - std::floor(left)) * kUsPerSecond, 1.0));
  return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
         setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
}

// Returns a socket that is connected.
absl::StatusOr<int> ConnectTo(const std::string& address,
                              Clock::time_point end) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "': must be HOST:PORT"));
  }
  absl::string_view host = absl::string_view(address).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(std::string(host).c_str(),
                                address.c_str() + colon + 1, &hints, &found);
  if (error != 0) return NoAnswer(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(
      found, &freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int fd = socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC,
                          each->ai_protocol);
    if (fd < 0) continue;
    if (LimitTime(fd, end) &&
        connect(fd, each->ai_addr, each->ai_addrlen) == 0) {
      return fd;
    }
    why = std::strerror(errno);
    close(fd);
  }
  return NoAnswer(address, absl::StrCat("cannot connect: ", why));
}

absl::Status Send(int fd, const std::string& address, absl::string_view request,
                  Clock::time_point end) {
  while (!request.empty()) {
    if (!LimitTime(fd, end)) return NoAnswer(address, "no answer in time");
    const ssize_t sent = send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return NoAnswer(address, std::strerror(errno));
    request.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReceiveAll(int fd, const std::string& address,
                                       Clock::time_point end) {
  std::string answer;
  char buffer[1 << 14];
  while (true) {
    if (!LimitTime(fd, end)) return NoAnswer(address, "no answer in time");
    const ssize_t received = recv(fd, buffer, sizeof(buffer), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return NoAnswer(address, std::strerror(errno));
    if (received == 0) return answer;
    answer.append(buffer, static_cast<size_t>(received));
    if (answer.size() > kMostBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          address, ": the answer has more than ", kMostBytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> HttpGet(const std::string& address,
                                    const std::string& path,
                                    double timeout_seconds) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(timeout_seconds));
  ASSIGN_OR_RETURN(const int fd, ConnectTo(address, end));
  const absl::Cleanup closer = [fd] { close(fd); };
  // The server of version 1.0 ends the answer by closing the connection.
  RETURN_IF_ERROR(Send(
      fd, address,
      absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", address, "\r\n\r\n"),
      end));
  ASSIGN_OR_RETURN(std::string answer, ReceiveAll(fd, address, end));
  const size_t body = answer.find("\r\n\r\n");
  const std::string first = answer.substr(0, answer.find("\r\n"));
  if (!absl::StartsWith(first, "HTTP/1.") || body == std::string::npos) {
    return NoAnswer(address, "the answer is not HTTP");
  }
  if (first.find(" 200") == std::string::npos) {
    return NoAnswer(address, absl::StrCat(path, ": ", first));
  }
  constexpr size_t kBlankLine = 4;
  return answer.substr(body + kBlankLine);
}

}  // namespace sortition
