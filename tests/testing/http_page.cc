#include "tests/testing/http_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sortition {

absl::StatusOr<std::string> FetchPage(int port, absl::string_view path) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: localhost\r\n\r\n");
  std::string response;
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) == 0 &&
      send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[16384];
    ssize_t received = 0;
    while ((received = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0) {
      response.append(buffer, static_cast<size_t>(received));
    }
  }
  close(socket_fd);
  const size_t body = response.find("\r\n\r\n");
  if (!absl::StrContains(response.substr(0, 20), " 200 ") ||
      body == std::string::npos) {
    return absl::UnavailableError(
        absl::StrCat(path, " of port ", port, " answered '", response, "'"));
  }
  return response.substr(body + 4);
}

absl::StatusOr<std::string> FetchMetrics(int port) {
  return FetchPage(port, "/metrics");
}

double MetricSum(const std::string& text, absl::string_view prefix) {
  double sum = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, prefix)) continue;
    const size_t space = line.rfind(' ');
    double value = 0;
    if (space != absl::string_view::npos &&
        absl::SimpleAtod(line.substr(space + 1), &value)) {
      sum += value;
    }
  }
  return sum;
}

}  // namespace sortition
