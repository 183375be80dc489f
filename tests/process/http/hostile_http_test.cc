// Requests that are broken, late or too large; and more connections than a
// process has descriptors.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/http/socket_addresses.h"
#include "tests/process/http/http_server_fixture.h"
#include "tests/testing/http_client.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class HostileHttpTest : public HttpServerFixture {
 protected:
  void ExpectServes() { EXPECT_EQ(GetHttp(port(), "/page").body, "the page"); }
  void ExpectRefused(const std::string& request, int code,
                     const std::string& message) {
    const int calls = num_calls();
    const HttpReply reply = AskHttp(port(), request);
    EXPECT_EQ(reply.code, code) << request.substr(0, 200);
    EXPECT_THAT(reply.body,
                AllOf(HasSubstr("\"code\":\""), HasSubstr(message)));
    EXPECT_EQ(reply.headers.at("connection"), "close");
    EXPECT_EQ(num_calls(), calls);
    ExpectServes();
  }
  // A request of POST /echo with these header lines and this body.
  static std::string Post(const std::string& headers, const std::string& body) {
    return absl::StrCat("POST /echo HTTP/1.1\r\nHost: localhost\r\n", headers,
                        "\r\n", body);
  }
};

TEST_F(HostileHttpTest, RefusesWhatIsNotHttp) {
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string("nonsense\r\n\r\n"),
        std::string("GET\r\n\r\n"), std::string("GET /page\r\n\r\n"),
        std::string("FOO /page HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        std::string("GET /page HTTP/1.1\r\nHo st\x01: x\r\n\r\n"),
        std::string(1, '\0') + "\r\n\r\n",
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)}) {
    ExpectRefused(text, 400, "not a request of HTTP/1.1");
  }
  ExpectRefused("GET /page HTTP/3.0\r\nHost: localhost\r\n\r\n", 505,
                "HTTP/1.1");
  ExpectRefused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "");
  // Civetweb closes without an answer.
  EXPECT_EQ(
      AskHttp(port(), "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").code, 0);
  ExpectServes();
}

TEST_F(HostileHttpTest, RefusesTargetsThatAreNoPaths) {
  ExpectRefused(absl::StrCat("GET http://127.0.0.1:", port(),
                             "/page HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                400, "must be a path");
}

TEST_F(HostileHttpTest, RefusesHeadersThatHaveNoEnd) {
  ExpectRefused(absl::StrCat("GET /page HTTP/1.1\r\nHost: localhost\r\nX: ",
                             std::string(1 << 17, 'x'), "\r\n\r\n"),
                400, "65536 bytes");
}

TEST_F(HostileHttpTest, RefusesBodiesOfTwoLengths) {
  ExpectRefused(Post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                     "0\r\n\r\nPOST /echo HTTP/1.1\r\n"),
                400, "only one of them");
  ExpectRefused(Post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"),
                400, "2 times");
  ExpectRefused(Post("Content-Length: 0\r\nContent-Length: 6\r\n", "hello!"),
                400, "2 times");
  ExpectRefused(Post("Content-Length: 5x\r\n", "hello"), 400,
                "number of bytes");
  ExpectRefused(Post("Content-Length: -5\r\n", "hello"), 400, "");
  ExpectRefused(Post("Content-Length: +5\r\n", "hello"), 400,
                "number of bytes");
  ExpectRefused(Post("Content-Length: 99999999999999999999\r\n", "hello"), 400,
                "number of bytes");
  for (const char* const encoding :
       {"gzip", "identity", "chunked, gzip", "gzip, chunked", "Chunked x"}) {
    ExpectRefused(
        Post(absl::StrCat("Transfer-Encoding: ", encoding, "\r\n"), "hello"),
        400, "");
  }
  ExpectRefused(
      "POST /echo HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400, "must be chunked, in HTTP/1.1");
  for (const char* const twice :
       {"Connection: keep-alive\r\nConnection: close\r\n",
        "Expect: 100-continue\r\nExpect: 100-continue\r\n",
        "Authorization: Bearer a\r\nauthorization: Bearer b\r\n"}) {
    ExpectRefused(Post(twice, ""), 400, "2 times");
  }
}

TEST_F(HostileHttpTest, RefusesLengthsThatStandWhereItDoesNotLook) {
  // The body would be the next request.
  const std::string length = "Content-Length: 46\r\n";
  const std::string body = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n....";
  for (const char* const before :
       {":x\r\n", " folded: x\r\n", "\xc3\xa9: x\r\n"}) {
    ExpectRefused(Post(absl::StrCat(before, length), body), 400,
                  "a line of the headers");
    // As the first line of all.
    ExpectRefused(
        absl::StrCat("POST /echo HTTP/1.0\r\n", before, length, "\r\n", body),
        400, "a line of the headers");
  }
  ExpectRefused(Post("Content-Length : 2\r\n", "{}"), 400,
                "no blank before the colon");
  ExpectRefused(Post("X-Extra: a\nContent-Length: 2\r\n", "{}"), 400, "CR LF");
  ExpectRefused("GET /page HTTP/1.1\nHost: localhost\n\n", 400, "CR LF");
  ExpectRefused("GET /page HTTP/1.1\r\nHost: localhost\r\n\nX: y\r\n\r\n", 400,
                "CR LF");
  std::string many;
  for (int i = 0; i < 63; ++i) absl::StrAppend(&many, "X-", i, ": x\r\n");
  ExpectRefused(Post(many + length, body), 400, "64 headers or more");
  // One fewer, some of them empty.
  const std::string few = many.substr(0, many.find("X-60:")) + "X-E:\r\n";
  EXPECT_THAT(AskHttp(port(), Post(few + "Content-Length: 2\r\n", "{}")).body,
              HasSubstr("[{}]"));
  EXPECT_EQ(AskHttp(port(),
                    "GET /page HTTP/1.1\r\nX-Extra:\r\n"
                    "Host: localhost\r\nX-E: \r\n\r\n")
                .code,
            200);
  EXPECT_EQ(AskHttp(port(), "GET /page HTTP/1.0\r\n\r\n").code, 200);
}

TEST_F(HostileHttpTest, RefusesChunksThatAreNone) {
  for (const char* const chunks :
       {"x\r\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "5 hello\r\n\r\n",
        "ffffffffffffffff\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n"}) {
    ExpectRefused(Post("Transfer-Encoding: chunked\r\n", chunks), 400,
                  "chunks of the body are malformed");
  }
}

TEST_F(HostileHttpTest, RefusesBodiesThatEndEarly) {
  HttpClient client(port());
  client.Send(Post("Content-Length: 10\r\n", "hello"));
  client.EndSending();
  const HttpReply reply = client.Read();
  EXPECT_EQ(reply.code, 400);
  EXPECT_THAT(reply.body, HasSubstr("the body ends early"));
  EXPECT_EQ(num_calls(), 0);
}

TEST_F(HostileHttpTest, RefusesBodiesThatAreTooLarge) {
  const std::string message = absl::StrCat("max_body_bytes = ", kMaxBody);
  // As declared, before any of it comes.
  ExpectRefused(
      Post(absl::StrCat("Content-Length: ", kMaxBody + 1, "\r\n"), ""), 413,
      message);
  ExpectRefused(Post(absl::StrCat("Content-Length: ", uint64_t{1} << 60,
                                  "\r\nExpect: 100-continue\r\n"),
                     ""),
                413, message);
  // As it comes; all of it is sent before the answer is read.
  ExpectRefused(Post(absl::StrCat("Content-Length: ", kMaxBody + 1000, "\r\n"),
                     std::string(kMaxBody + 1000, 'x')),
                413, message);
  // More than the buffers of the kernel hold.
  const size_t much = kMaxBody + (size_t{16} << 20);
  ExpectRefused(Post(absl::StrCat("Content-Length: ", much, "\r\n"),
                     std::string(much, 'x')),
                413, message);
  std::string chunks;
  for (int i = 0; i < 1100; ++i) {
    absl::StrAppend(&chunks, "400\r\n", std::string(1024, 'x'), "\r\n");
  }
  ExpectRefused(Post("Transfer-Encoding: chunked\r\n", chunks), 413, message);
}

TEST_F(HostileHttpTest, RefusesExpectationsItDoesNotKnow) {
  ExpectRefused(Post("Content-Length: 5\r\nExpect: miracles\r\n", "hello"), 417,
                "100-continue");
  // Without a body, too; HTTP/1.0 has no expectations.
  const std::string headers = "Host: localhost\r\nExpect: miracles\r\n\r\n";
  EXPECT_EQ(AskHttp(port(), "GET /page HTTP/1.1\r\n" + headers).code, 417);
  EXPECT_EQ(AskHttp(port(), "GET /page HTTP/1.0\r\n" + headers).code, 200);
}

// A compressed body would be read as it is, and refused for its first byte.
TEST_F(HostileHttpTest, RefusesCompressedBodiesBeforeTheyCome) {
  for (const char* const coding :
       {"gzip", "GZIP", "x-gzip", "deflate", "br", "zstd", "compress",
        "identity, gzip", "gzip, gzip", "unknown"}) {
    const std::string headers =
        absl::StrCat("Content-Encoding: ", coding, "\r\n");
    const std::string message =
        absl::StrCat("header \\\"Content-Encoding\\\" is \\\"", coding,
                     "\\\": must be identity or absent");
    ExpectRefused(Post(headers + "Content-Length: 5\r\n", ""), 415, message);
    ExpectRefused(Post(headers + "Content-Length: 5\r\n"
                                 "Expect: 100-continue\r\n",
                       ""),
                  415, message);
    ExpectRefused(Post(headers + "Transfer-Encoding: chunked\r\n", ""), 415,
                  message);
    EXPECT_EQ(AskHttp(port(), Post(headers + "Content-Length: 5\r\n", "hello"))
                  .headers.at("accept-encoding"),
              "identity");
  }
  ExpectRefused(Post("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"
                     "Content-Length: 5\r\n",
                     "hello"),
                400, "2 times");
  for (const char* const coding : {"identity", "Identity", ""}) {
    EXPECT_THAT(AskHttp(port(), Post(absl::StrCat("Content-Encoding: ", coding,
                                                  "\r\nContent-Length: 5\r\n"),
                                     "hello"))
                    .body,
                HasSubstr("[hello]"));
  }
}

TEST_F(HostileHttpTest, RefusesAPartOfABody) {
  ExpectRefused(
      Post("Content-Range: bytes 0-4/10\r\nContent-Length: 5\r\n", "hello"),
      400, "\"bytes 0-4/10\\\": must be absent");
}

TEST_F(HostileHttpTest, AnUnfinishedBodyDoesNotHoldUpTheEnd) {
  Open({.request_seconds = 600});
  HttpClient client(port());
  client.Send(Post("Content-Length: 100\r\nExpect: 100-continue\r\n", ""));
  EXPECT_EQ(client.Read(false, false).code, 100);
  client.Send("x");
  const Clock::time_point begin = Clock::now();
  Close();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(600));
}

TEST_F(HostileHttpTest, TheKernelKeepsSilentClientsForLong) {
  const std::vector<int> sockets =
      FindListeningSockets({absl::StrCat("127.0.0.1:", port())});
  ASSERT_EQ(sockets.size(), 1u);
  int seconds = 0;
  socklen_t size = sizeof(seconds);
  ASSERT_EQ(
      ::getsockopt(sockets[0], IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, &size),
      0);
  EXPECT_GE(seconds, 1800);
}

TEST_F(HostileHttpTest, SilentClientsThatTheKernelDoesNotKeepAreLeft) {
  Open({.threads = 2, .request_seconds = 600});
  const std::vector<int> sockets =
      FindListeningSockets({absl::StrCat("127.0.0.1:", port())});
  ASSERT_EQ(sockets.size(), 1u);
  const int none = 0;
  ASSERT_EQ(::setsockopt(sockets[0], IPPROTO_TCP, TCP_DEFER_ACCEPT, &none,
                         sizeof(none)),
            0);
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(std::make_unique<HttpClient>(port()));
  }
  const Clock::time_point begin = Clock::now();
  ExpectServes();
  for (const auto& client : silent) EXPECT_TRUE(client->ReadsEnd());
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(600));
}

class SlowClientTest : public HostileHttpTest {
 protected:
  static constexpr double kSeconds = 0.5;

  SlowClientTest() {
    Open({.threads = 2,
          .max_waiting = 16,
          .max_body_bytes = kMaxBody,
          .request_seconds = kSeconds});
  }

  // Sends one byte after the other until the server answers.
  HttpReply Drip(const std::string& start, const std::string& bytes) {
    const Clock::time_point begin = Clock::now();
    HttpClient client(port());
    client.Send(start);
    std::atomic<bool> is_over{false};
    std::thread drips([&] {
      for (size_t i = 0; !is_over; ++i) {
        client.Send(bytes.substr(i % bytes.size(), 1));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    // A limit that began again with every byte would never end this.
    const HttpReply reply = client.Read();
    const std::chrono::duration<double> taken = Clock::now() - begin;
    is_over = true;
    drips.join();
    EXPECT_GE(taken.count(), 0.9 * kSeconds);
    return reply;
  }
};

TEST_F(SlowClientTest, ABodyThatDripsIsRefusedInTime) {
  const HttpReply reply = Drip(Post("Content-Length: 100000\r\n", ""), "x");
  EXPECT_EQ(reply.code, 408);
  EXPECT_THAT(reply.body, HasSubstr("http.request_seconds = 0.5"));
  ExpectServes();
}

TEST_F(SlowClientTest, ChunksThatDripAreRefusedInTime) {
  EXPECT_EQ(Drip(Post("Transfer-Encoding: chunked\r\n", ""), "1\r\nx\r\n").code,
            408);
  ExpectServes();
}

TEST_F(SlowClientTest, HeadersThatDripAreRefusedInTime) {
  EXPECT_EQ(
      Drip("GET /page HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n").code,
      408);
  ExpectServes();
}

// Each client that took one of the two threads would keep it for 600 s.
TEST_F(HostileHttpTest, SilentClientsTakeNoThread) {
  Open({.threads = 2, .max_waiting = 16, .request_seconds = 600});
  // Browsers open connections that they may need later.
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<HttpClient>(port()));
  }
  const Clock::time_point begin = Clock::now();
  ExpectServes();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(600));
}

TEST_F(SlowClientTest, ClientsThatReadNothingAreLeft) {
  std::vector<std::unique_ptr<HttpClient>> deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.push_back(std::make_unique<HttpClient>(port()));
    // The answers fill all buffers long before the last of them.
    for (int j = 0; j < 30; ++j) {
      deaf.back()->Send(PostText("/echo", std::string(kMaxBody / 2, 'x')));
    }
  }
  ExpectServes();
}

TEST_F(HostileHttpTest, EndsSoonWhoeverIsConnected) {
  Open({.threads = 2, .request_seconds = 600});
  const HttpClient silent(port());
  const HttpClient slow(port());
  slow.Send(Post("Content-Length: 100\r\n", "x"));
  ExpectServes();
  const Clock::time_point begin = Clock::now();
  Close();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(600));
}

// Counts the connections of this process that came to the port.
int NumAccepted(int port) {
  int count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int fd = -1;
    sockaddr_in here = {};
    sockaddr_in there = {};
    socklen_t size = sizeof(here);
    if (!absl::SimpleAtoi(entry.path().filename().string(), &fd) ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0 ||
        here.sin_family != AF_INET || ntohs(here.sin_port) != port) {
      continue;
    }
    size = sizeof(there);
    count += ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &size) == 0;
  }
  return count;
}

TEST_F(HostileHttpTest, TakesNoMoreConnectionsThanItSays) {
  const HttpLimits limits = {
      .threads = 2, .max_waiting = 8, .request_seconds = Patience(5)};
  Open(limits);
  std::vector<std::unique_ptr<HttpClient>> clients;
  // Each has begun a request, so that it is not left to the kernel.
  for (int i = 0; i < 600; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->Send("GET /page HTTP/1.1\r\n");
    if (i % 100 == 0) {
      EXPECT_LE(NumAccepted(port()), static_cast<int>(MostConnections(limits)));
    }
  }
  EXPECT_LE(NumAccepted(port()), static_cast<int>(MostConnections(limits)));
  EXPECT_GE(NumAccepted(port()), static_cast<int>(limits.threads));
  clients.clear();
  ExpectServes();
}

TEST_F(HostileHttpTest, TakesFewConnectionsWhereDescriptorsAreFew) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  // 256 / 8.
  EXPECT_LE(MostConnections({.threads = 4, .max_waiting = 1000}), 32u);
  Open({.threads = 4, .max_waiting = 1000});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 150; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->Send("GET /page HTTP/1.1\r\n");
  }
  EXPECT_LE(NumAccepted(port()), 32);
  clients.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ExpectServes();
}

}  // namespace
}  // namespace sortition
