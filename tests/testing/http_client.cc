#include "tests/testing/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/testing/patience.h"

namespace sortition {

HttpClient::HttpClient(int port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  // A server that never answers is a failure, too.
  const timeval patience = {static_cast<time_t>(Patience(60)), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address),
                            sizeof(address)) == 0;
}

HttpClient::~HttpClient() { ::close(socket_); }

bool HttpClient::Send(absl::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void HttpClient::EndSending() const { ::shutdown(socket_, SHUT_WR); }

bool HttpClient::Fill(size_t size) {
  char piece[16384];
  while (buffer_.size() < size) {
    const ssize_t received = ::recv(socket_, piece, sizeof(piece), 0);
    if (received <= 0) return false;
    buffer_.append(piece, static_cast<size_t>(received));
  }
  return true;
}

HttpReply HttpClient::Read(bool is_head, bool skips_continue) {
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill(buffer_.size() + 1)) return {};
  }
  HttpReply reply;
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end + 4);
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(head, "\r\n")) {
    if (is_first && !absl::SimpleAtoi(line.substr(9, 3), &reply.code)) {
      return {};
    }
    const size_t colon = line.find(": ");
    if (!is_first && colon != absl::string_view::npos) {
      reply.headers[absl::AsciiStrToLower(line.substr(0, colon))] =
          std::string(line.substr(colon + 2));
    }
    is_first = false;
  }
  if (reply.code == 100) return skips_continue ? Read(is_head) : reply;
  size_t length = 0;
  if (is_head || !absl::SimpleAtoi(reply.headers["content-length"], &length)) {
    return reply;
  }
  if (!Fill(length)) return {};
  reply.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return reply;
}

bool HttpClient::ReadsEnd() { return buffer_.empty() && !Fill(1); }

HttpReply AskHttp(int port, absl::string_view bytes) {
  HttpClient client(port);
  client.Send(bytes);
  return client.Read();
}

std::string PostText(absl::string_view path, absl::string_view json,
                     absl::string_view headers) {
  return absl::StrCat("POST ", path,
                      " HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Type: application/json\r\n",
                      headers, "Content-Length: ", json.size(), "\r\n\r\n",
                      json);
}

HttpReply PostJson(int port, absl::string_view path, absl::string_view json,
                   absl::string_view headers) {
  return AskHttp(port, PostText(path, json, headers));
}

HttpReply GetHttp(int port, absl::string_view path, absl::string_view headers) {
  return AskHttp(port,
                 absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n",
                              headers, "\r\n"));
}

}  // namespace sortition
