#include "process/http/page_server.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A connection; closed with the object.
class TestClient {
 public:
  TestClient() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  explicit TestClient(int port) : TestClient() { Connect(port); }
  ~TestClient() { ::close(socket_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void Connect(int port) const {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                        sizeof(address)),
              0);
  }

  bool Send(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // All until the server closes.
  std::string ReadAll() const {
    std::string text;
    // Large: a window that opens by little and little stalls the sender.
    std::string buffer(1 << 20, ' ');
    for (ssize_t n;
         (n = ::recv(socket_, buffer.data(), buffer.size(), 0)) > 0;) {
      text.append(buffer, 0, static_cast<size_t>(n));
    }
    return text;
  }

 private:
  const int socket_;
};

// While it lives, the process has no free descriptor. The limit is above all
// that are in use: one that is closed can be used again.
class AllDescriptorsInUse {
 public:
  AllDescriptorsInUse() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit limited = before_;
    limited.rlim_cur = kMost;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limited), 0);
    for (int fd; (fd = ::dup(STDERR_FILENO)) >= 0;) filled_.push_back(fd);
    EXPECT_EQ(errno, EMFILE);
  }
  ~AllDescriptorsInUse() {
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
    for (const int fd : filled_) ::close(fd);
  }
  AllDescriptorsInUse(const AllDescriptorsInUse&) = delete;
  AllDescriptorsInUse& operator=(const AllDescriptorsInUse&) = delete;

 private:
  // More than the test opens and inherits.
  static constexpr int kMost = 512;

  std::vector<int> filled_;
  rlimit before_ = {};
};

class PageServerTest : public testing::Test {
 protected:
  PageServerTest() { Open("the page\n"); }

  void Open(const std::string& text,
            const std::string& address = "127.0.0.1:0") {
    auto server = PageServer::Open("listen", address,
                                   {"/page", "text/plain", [this, text] {
                                      ++num_made_;
                                      return text;
                                    }});
    EXPECT_OK(server.status());
    server_ = *std::move(server);
  }
  std::string Ask(const std::string& request) const {
    const TestClient client(server_->port());
    EXPECT_TRUE(client.Send(request));
    return client.ReadAll();
  }
  void ExpectServes() const {
    EXPECT_THAT(Ask("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                StartsWith("HTTP/1.1 200 OK\r\n"));
  }

  std::atomic<int> num_made_{0};
  std::unique_ptr<PageServer> server_;
};

TEST_F(PageServerTest, AnswersAsHttp) {
  EXPECT_THAT(Ask("GET /page?x=1 HTTP/1.0\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain\r\n"),
                    HasSubstr("Content-Length: 9\r\n"),
                    HasSubstr("Connection: close\r\n"),
                    EndsWith("\r\n\r\nthe page\n")));
  EXPECT_THAT(Ask("HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 9\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_EQ(num_made_, 2);
  EXPECT_THAT(Ask("GET /other HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Ask("POST /page HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(Ask("\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(num_made_, 2);
}

// A page of a site whose DNS leads to 127.0.0.1.
TEST_F(PageServerTest, OnLoopbackForeignNamesReadNothing) {
  for (const char* host : {"evil.example", "evil.example:8501", "server"}) {
    EXPECT_THAT(Ask(absl::StrCat("GET /page HTTP/1.1\r\nAccept: */*\r\nHost: ",
                                 host, "\r\n\r\n")),
                StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  }
  EXPECT_EQ(num_made_, 0);
  for (const char* host : {"localhost:8501", "127.0.0.1", "[::1]:8501"}) {
    EXPECT_THAT(
        Ask(absl::StrCat("GET /page HTTP/1.1\r\nhOST:", host, "\r\n\r\n")),
        StartsWith("HTTP/1.1 200 OK\r\n"));
  }
}

TEST_F(PageServerTest, ElsewhereAnyNameIsTaken) {
  Open("the page\n", "0.0.0.0:0");
  EXPECT_THAT(Ask("GET /page HTTP/1.1\r\nHost: server.example\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(PageServerTest, ARequestMayComeInPieces) {
  const TestClient client(server_->port());
  for (const char byte :
       std::string("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    EXPECT_TRUE(client.Send(std::string(1, byte)));
    ExpectServes();
  }
  EXPECT_THAT(client.ReadAll(), EndsWith("the page\n"));
}

TEST_F(PageServerTest, SilentClientsLoseTheirPlaceToNewOnes) {
  std::vector<std::unique_ptr<TestClient>> silent;
  for (size_t i = 0; i < 10 * PageServer::kMaxConnections; ++i) {
    silent.push_back(std::make_unique<TestClient>(server_->port()));
    // Half a request is no better than none.
    if (i % 2 == 0) silent.back()->Send("GET /page HTTP/1.1\r\n");
  }
  ExpectServes();
  // The oldest are gone, long before their time is over.
  EXPECT_EQ(silent.front()->ReadAll(), "");
}

TEST_F(PageServerTest, ARequestThatNeverEndsIsRefused) {
  EXPECT_THAT(Ask(std::string(40'000, 'x')),
              testing::AnyOf(StartsWith("HTTP/1.1 431"), ""));
  ExpectServes();
}

TEST_F(PageServerTest, ClientsThatReadNothingHoldUpNobody) {
  // More than the buffers of a connection take.
  Open(std::string(16 << 20, 'x'));
  std::vector<std::unique_ptr<TestClient>> deaf;
  for (size_t i = 0; i < PageServer::kMaxConnections / 4; ++i) {
    deaf.push_back(std::make_unique<TestClient>(server_->port()));
    deaf.back()->Send("GET /page HTTP/1.1\r\n\r\n");
  }
  EXPECT_GT(Ask("GET /page HTTP/1.1\r\n\r\n").size(), size_t{16} << 20);
}

// The oldest connection gives its own.
TEST_F(PageServerTest, ServesWhileDescriptorsAreShort) {
  const TestClient silent[2] = {TestClient(server_->port()),
                                TestClient(server_->port())};
  const TestClient slow(server_->port());
  ExpectServes();
  // The server may hold one descriptor for a moment while the others are
  // filled, so that the first of two clients may find it free.
  const TestClient clients[2];
  {
    const AllDescriptorsInUse all_in_use;
    for (const TestClient& client : clients) {
      client.Connect(server_->port());
      EXPECT_TRUE(client.Send("GET /page HTTP/1.1\r\n\r\n"));
      EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 200"));
    }
    // Not more are closed than clients have come.
    EXPECT_TRUE(slow.Send("GET /page HTTP/1.1\r\n\r\n"));
    EXPECT_THAT(slow.ReadAll(), StartsWith("HTTP/1.1 200"));
  }
  ExpectServes();
}

TEST_F(PageServerTest, EndsAtOnceWhoeverIsConnected) {
  const TestClient silent(server_->port());
  ExpectServes();
  server_.reset();
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(PageServerTest, RefusesAWrongOrTakenAddress) {
  for (const std::string& address :
       {absl::StrCat("127.0.0.1:", server_->port()), std::string("nothing"),
        std::string("127.0.0.1:"), std::string("192.0.2.1:0")}) {
    EXPECT_THAT(PageServer::Open("listen", address, {}).status(),
                StatusIs(StatusCode::kUnavailable,
                         HasSubstr(absl::StrCat("listen = \"", address, "\""))))
        << address;
  }
}

}  // namespace
}  // namespace sortition
