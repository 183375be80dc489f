#include "process/http/http_get.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/metrics.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

TEST(HttpGetTest, ReadsTheMetricsOfAnotherProcess) {
  Metrics metrics;
  metrics.Counter("c_total", "help")->Increment(7);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       HttpGet(absl::StrCat("localhost:", port), "/metrics"));
  EXPECT_THAT(text, HasSubstr("\nc_total 7\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("HTTP/1")));
  EXPECT_THAT(HttpGet(absl::StrCat("127.0.0.1:", port), "/none").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("404")));
}

TEST(HttpGetTest, NamesWhoDoesNotAnswer) {
  EXPECT_THAT(HttpGet("127.0.0.1:1", "/").status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("127.0.0.1:1: cannot connect")));
  for (const char* address : {"", "host", "host:", ":80"}) {
    EXPECT_THAT(HttpGet(address, "/").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("must be HOST:PORT")));
  }
}

// A socket that listens and never answers, or answers `text` and closes.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size),
              0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~Listener() { close(fd_); }
  const std::string& address() const { return address_; }
  void AnswerOne(const std::string& text) const {
    const int call = accept(fd_, nullptr, nullptr);
    char request[1000];
    EXPECT_GT(read(call, request, sizeof(request)), 0);
    EXPECT_EQ(write(call, text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    close(call);
  }

 private:
  int fd_;
  std::string address_;
};

TEST(HttpGetTest, GivesUpOnASilentServer) {
  const Listener listener;
  EXPECT_THAT(
      HttpGet(listener.address(), "/", 0.05).status(),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr(listener.address())));
}

TEST(HttpGetTest, RefusesWhatIsNotHttp) {
  const Listener listener;
  std::thread server([&] { listener.AnswerOne("SSH-2.0\r\n"); });
  EXPECT_THAT(HttpGet(listener.address(), "/").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not HTTP")));
  server.join();
}

}  // namespace
}  // namespace sortition
