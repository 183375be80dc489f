#pragma once
// A listener that answers as a test tells it to.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace sortition {

class HostilePeer {
 public:
  // `answer` gets each connection, and may use it until it returns.
  explicit HostilePeer(std::function<void(int fd)> answer)
      : answer_(std::move(answer)),
        socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(place);
    auto* const name = reinterpret_cast<sockaddr*>(&place);
    EXPECT_EQ(::bind(socket_, name, size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, name, &size), 0);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~HostilePeer() {
    must_stop_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Whether `answer` must come to an end.
  bool must_stop() const { return must_stop_; }

  // Returns false once the other end takes no more.
  static bool Send(int fd, absl::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads until the end of the head of a request.
  static std::string ReadRequest(int fd) {
    std::string request;
    char byte = 0;
    while (request.find("\r\n\r\n") == std::string::npos &&
           ::read(fd, &byte, 1) == 1) {
      request += byte;
    }
    return request;
  }

 private:
  void Run() {
    while (!must_stop_) {
      pollfd wait = {socket_, POLLIN, 0};
      ::poll(&wait, 1, -1);
      const int fd = ::accept(socket_, nullptr, nullptr);
      if (fd < 0) continue;
      answer_(fd);
      ::close(fd);
    }
  }

  const std::function<void(int)> answer_;
  const int socket_;
  int port_ = 0;
  std::atomic<bool> must_stop_{false};
  std::thread thread_;
};

}  // namespace sortition
