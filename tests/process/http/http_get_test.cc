#include "process/http/http_get.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/metrics.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::StartsWith;

constexpr HttpGetLimits kLimits = {.time = std::chrono::seconds(20),
                                   .bytes = size_t{1} << 20};

class HttpGetTest : public testing::Test {
 protected:
  // Returns what comes of a peer that reads the request and sends `text`.
  static absl::StatusOr<std::string> GetFrom(const std::string& text,
                                             HttpGetLimits limits = kLimits) {
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
                         HttpGet(peer.address(), "/a?b=0", kLimits));
    EXPECT_EQ(body, "hello");
  }
  EXPECT_THAT(request, StartsWith("GET /a?b=0 HTTP/1.0\r\nHost: 127.0.0.1:"));
}

TEST_F(HttpGetTest, ReadsTheMetricsOfAnotherProcess) {
  Metrics metrics;
  metrics.Counter("c_total", "help")->Increment(7);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      HttpGet(absl::StrCat("127.0.0.1:", port), "/metrics", kLimits));
  EXPECT_THAT(text, HasSubstr("\nc_total 7\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("HTTP/1")));
  EXPECT_THAT(
      HttpGet(absl::StrCat("127.0.0.1:", port), "/none", kLimits).status(),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("404")));
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
  ASSERT_OK_AND_ASSIGN(const std::string body,
                       HttpGet(peer.address(), "/", kLimits));
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
  // What a status is called says nothing.
  EXPECT_THAT(GetFrom("HTTP/1.1 500 200\r\n\r\n").status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("500")));
  // What is not printable does not come out.
  EXPECT_THAT(GetFrom("HTTP/1.1 \x1b[2J\r\n\r\n").status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\\x1b[2J")));
}

TEST_F(HttpGetTest, FollowsNoRedirection) {
  std::atomic<bool> is_asked = false;
  HostilePeer other([&](int) { is_asked = true; });
  EXPECT_THAT(GetFrom(absl::StrCat("HTTP/1.1 302 Found\r\nLocation: http://",
                                   other.address(), "/\r\n\r\n"))
                  .status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("302")));
  EXPECT_FALSE(is_asked);
}

TEST_F(HttpGetTest, RefusesWhatIsTooLong) {
  const HttpGetLimits limits = {.time = kLimits.time, .bytes = 100};
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
  EXPECT_THAT(HttpGet(peer.address(), "/", kLimits).status(),
              StatusIs(StatusCode::kResourceExhausted));
}

// Returns what comes of `peer` within 50 ms.
absl::Status GetInTime(const HostilePeer& peer) {
  const HttpGetLimits limits = {.time = std::chrono::milliseconds(50),
                                .bytes = kLimits.bytes};
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = HttpGet(peer.address(), "/", limits).status();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, limits.time);
  return status;
}

TEST_F(HttpGetTest, SilentPeersAreLeftInTime) {
  HostilePeer peer([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    char byte = 0;
    EXPECT_LE(::read(fd, &byte, 1), 0);
  });
  EXPECT_THAT(GetInTime(peer), StatusIs(StatusCode::kDeadlineExceeded,
                                        StartsWith(peer.address())));
}

// The limit is that of the whole answer: no byte begins it again.
TEST_F(HttpGetTest, TalkativePeersAreLeftInTime) {
  HostilePeer peer([](int fd) {
    HostilePeer::ReadRequest(fd);
    pollfd end = {fd, POLLIN, 0};
    while (::poll(&end, 1, /*timeout=*/1) == 0) HostilePeer::Send(fd, "x");
  });
  EXPECT_THAT(GetInTime(peer), StatusIs(StatusCode::kDeadlineExceeded));
}

TEST_F(HttpGetTest, NamesWhatIsWrongWithAnAddress) {
  EXPECT_THAT(
      HttpGet("", "/", kLimits).status(),
      StatusIs(StatusCode::kInvalidArgument, "\"\": must be HOST:PORT"));
  for (const std::string address : {"host", "host:", ":80"}) {
    EXPECT_THAT(HttpGet(address, "/", kLimits).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         absl::StrCat(address, ": must be HOST:PORT")));
  }
  std::string address;
  {
    address = HostilePeer([](int) {}).address();
  }  // Nobody is there now.
  EXPECT_THAT(
      HttpGet(address, "/", kLimits).status(),
      StatusIs(StatusCode::kUnavailable,
               absl::StrCat(address, ": cannot connect: Connection refused")));
}

}  // namespace
}  // namespace sortition
