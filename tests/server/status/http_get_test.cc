#include "server/status/http_get.h"

#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/status/hostile_peer.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::StartsWith;

class HttpGetTest : public testing::Test {
 protected:
  // Returns what comes of a peer that reads the request and sends `text`.
  static absl::StatusOr<std::string> GetFrom(const std::string& text,
                                             HttpGetLimits limits = {}) {
    HostilePeer peer([&text](int fd) {
      HostilePeer::ReadRequest(fd);
      HostilePeer::Send(fd, text);
    });
    return HttpGet(peer.address(), "/page", limits);
  }
};

TEST_F(HttpGetTest, ReturnsTheBody) {
  std::string request;
  {
    HostilePeer peer([&request](int fd) {
      request = HostilePeer::ReadRequest(fd);
      HostilePeer::Send(fd,
                        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    });
    ASSERT_OK_AND_ASSIGN(const std::string body,
                         HttpGet(peer.address(), "/a?b=0"));
    EXPECT_EQ(body, "hello");
  }
  EXPECT_THAT(request, StartsWith("GET /a?b=0 HTTP/1.0\r\nHost: 127.0.0.1:"));
}

TEST_F(HttpGetTest, AnEndOfTheConnectionEndsAnAnswerWithoutLength) {
  ASSERT_OK_AND_ASSIGN(const std::string body,
                       GetFrom("HTTP/1.0 200 OK\r\nA: b\r\n\r\nhello"));
  EXPECT_EQ(body, "hello");
}

TEST_F(HttpGetTest, DoesNotWaitForAnEndWhereTheAnswerIsThere) {
  HostilePeer peer([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    char byte = 0;
    EXPECT_LE(::read(fd, &byte, 1), 0);  // Until the asker closes.
  });
  ASSERT_OK_AND_ASSIGN(const std::string body, HttpGet(peer.address(), "/"));
  EXPECT_EQ(body, "ok");
}

TEST_F(HttpGetTest, RefusesWhatIsNoGoodAnswer) {
  EXPECT_THAT(GetFrom("").status(), StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(GetFrom("HTTP/1.1 200 OK\r\n").status(),
              StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(GetFrom("SSH-2.0\r\n\r\n").status(),
              StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(
      GetFrom("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort").status(),
      StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(GetFrom("HTTP/1.1 404 Not Found\r\n\r\n").status(),
              StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(GetFrom("HTTP/1.1\r\n\r\n").status(),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(HttpGetTest, RefusesWhatIsTooLong) {
  const HttpGetLimits limits = {.bytes = 100};
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  const std::string most(100 - head.size(), 'x');
  ASSERT_OK_AND_ASSIGN(const std::string body, GetFrom(head + most, limits));
  EXPECT_EQ(body, most);
  EXPECT_THAT(GetFrom(head + most + "x", limits).status(),
              StatusIs(StatusCode::kResourceExhausted));
  // A length that no memory has.
  EXPECT_THAT(GetFrom("HTTP/1.1 200 OK\r\nContent-Length: "
                      "18446744073709551615\r\n\r\nx")
                  .status(),
              StatusIs(StatusCode::kDataLoss));
}

TEST_F(HttpGetTest, NeverEndingAnswersAreCutAtTheLimit) {
  HostilePeer peer([](int fd) {
    const std::string part(4096, 'x');
    while (HostilePeer::Send(fd, part)) {
    }
  });
  EXPECT_THAT(HttpGet(peer.address(), "/").status(),
              StatusIs(StatusCode::kResourceExhausted));
}

TEST_F(HttpGetTest, SilentPeersAreLeftInTime) {
  HostilePeer peer([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    char byte = 0;
    EXPECT_LE(::read(fd, &byte, 1), 0);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(
      HttpGet(peer.address(), "/", {.time = std::chrono::milliseconds(50)})
          .status(),
      StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds(50));
}

TEST_F(HttpGetTest, NamesWhatIsWrongWithAnAddress) {
  for (const char* const address : {"", "host", ":80"}) {
    EXPECT_THAT(HttpGet(address, "/").status(),
                StatusIs(StatusCode::kInvalidArgument));
  }
  std::string address;
  {
    address = HostilePeer([](int) {}).address();
  }  // Nobody is there now.
  const absl::Status refused = HttpGet(address, "/").status();
  EXPECT_THAT(refused, StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("refused"));
}

}  // namespace
}  // namespace sortition
