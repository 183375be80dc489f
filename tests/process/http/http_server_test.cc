#include "process/http/http_server.h"

#include <signal.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/process/http/http_server_fixture.h"
#include "tests/testing/http_client.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

using HttpServerTest = HttpServerFixture;

TEST_F(HttpServerTest, HandsOnWhatCameAndSendsWhatItGot) {
  const HttpReply reply =
      AskHttp(port(),
              "POST /echo?a=b%20c HTTP/1.1\r\nHost: localhost\r\n"
              "X-Extra:  some words \r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body, "POST /echo a=b%20c some words [hello]");
  EXPECT_EQ(reply.headers.at("content-type"), "text/plain");
  EXPECT_EQ(reply.headers.at("x-answer"), "yes");
  EXPECT_THAT(last_peer(), testing::StartsWith("127.0.0.1:"));
}

TEST_F(HttpServerTest, AnswersHeadAsGetWithoutTheBody) {
  HttpClient client(port());
  client.Send("HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const HttpReply reply = client.Read(true);
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.headers.at("content-length"), "8");
  client.Send("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Read().body, "the page");
}

TEST_F(HttpServerTest, AnswersThatBrowsersTakeForNothingElse) {
  const HttpReply reply = GetHttp(port(), "/page");
  EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.headers.at("referrer-policy"), "no-referrer");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
  EXPECT_THAT(reply.headers.at("content-security-policy"),
              testing::AllOf(HasSubstr("default-src 'self'"),
                             HasSubstr("frame-ancestors 'none'")));
  EXPECT_EQ(reply.headers.count("access-control-allow-origin"), 0u);
}

TEST_F(HttpServerTest, AConnectionCarriesSeveralRequests) {
  HttpClient client(port());
  for (int i = 0; i < 10; ++i) {
    client.Send(PostText("/echo", absl::StrCat("request ", i)));
    const HttpReply reply = client.Read();
    EXPECT_THAT(reply.body, HasSubstr(absl::StrCat("[request ", i, "]")));
    EXPECT_EQ(reply.headers.at("connection"), "keep-alive");
  }
}

TEST_F(HttpServerTest, RequestsThatComeAtOnceAreAnsweredInOrder) {
  HttpClient client(port());
  client.Send(PostText("/echo", "1") + PostText("/echo", "22") +
              "GET /page HTTP/1.1\r\nHost: localhost\r\n"
              "Connection: close\r\n\r\n");
  EXPECT_THAT(client.Read().body, HasSubstr("[1]"));
  EXPECT_THAT(client.Read().body, HasSubstr("[22]"));
  EXPECT_EQ(client.Read().body, "the page");
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(HttpServerTest, AtMostHalfOfTheThreadsWaitForFurtherRequests) {
  // Four threads: of four clients that ask to be kept, two are.
  std::vector<std::unique_ptr<HttpClient>> clients;
  int num_kept = 0;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->Send("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n");
    num_kept += clients.back()->Read().headers.at("connection") == "keep-alive";
  }
  EXPECT_EQ(num_kept, 2);
  EXPECT_EQ(GetHttp(port(), "/page").code, 200);
  // A place that becomes free is given away again.
  clients.clear();
  const auto is_kept = [&] {
    return GetHttp(port(), "/page").headers.at("connection") == "keep-alive";
  };
  while (!is_kept()) {
  }
}

TEST_F(HttpServerTest, BodiesMayComeInChunksAndWithoutHaste) {
  HttpClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (const char* const piece : {"5\r\nhe", "llo\r\n", "1", "\r\n \r\n5\r\n",
                                  "world\r\n", "0\r\n", "\r\n"}) {
    client.Send(piece);
    EXPECT_EQ(GetHttp(port(), "/page", "Connection: close\r\n").code, 200);
  }
  EXPECT_THAT(client.Read().body, HasSubstr("[hello world]"));
  client.Send(PostText("/echo", "next"));
  EXPECT_THAT(client.Read().body, HasSubstr("[next]"));
}

TEST_F(HttpServerTest, LargeBodiesComeAndGoWhole) {
  std::string text;
  for (int i = 0; text.size() < kMaxBody - 8; ++i)
    absl::StrAppend(&text, i, ",");
  const HttpReply reply = PostJson(port(), "/echo", text);
  EXPECT_EQ(reply.code, 200);
  EXPECT_TRUE(reply.body == absl::StrCat("POST /echo   [", text, "]"));
}

TEST_F(HttpServerTest, TellsAClientToGoOnBeforeItSendsTheBody) {
  HttpClient client(port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.Read(false, false).code, 100);
  client.Send("hello");
  EXPECT_THAT(client.Read().body, HasSubstr("[hello]"));
}

TEST_F(HttpServerTest, RefusesWrongPathsAndMethods) {
  EXPECT_EQ(GetHttp(port(), "/pag").code, 404);
  EXPECT_EQ(GetHttp(port(), "/page/").code, 404);
  EXPECT_EQ(GetHttp(port(), "/x/../page").code, 404);
  EXPECT_EQ(GetHttp(port(), "/%70age").code, 404);
  EXPECT_EQ(GetHttp(port(), "/page%00").code, 404);
  EXPECT_EQ(PostJson(port(), "/page", "{}").code, 405);
  const HttpReply options =
      AskHttp(port(), "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(options.code, 405);
  EXPECT_EQ(options.headers.at("allow"), "POST");
  EXPECT_EQ(PostJson(port(), "/page", "{}").headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(num_calls(), 0);
}

TEST_F(HttpServerTest, RefusesAWrongOrTakenAddress) {
  for (const std::string& address :
       {absl::StrCat("127.0.0.1:", port()), std::string("nothing"),
        std::string("127.0.0.1:"), std::string("192.0.2.1:0"),
        std::string("[::1]:0")}) {
    EXPECT_EQ(HttpServer::CheckAddress("http.listen", address),
              HttpServer::Open("http.listen", address, {}, {}).status());
    EXPECT_THAT(
        HttpServer::Open("http.listen", address, {}, {}).status(),
        StatusIs(StatusCode::kUnavailable,
                 HasSubstr(absl::StrCat("http.listen = \"", address, "\""))))
        << address;
  }
}

// "127.1" is resolved like a name, to 127.0.0.1, but needs no file of hosts.
TEST_F(HttpServerTest, ListensAtAllAddressesOfAName) {
  EXPECT_OK(HttpServer::CheckAddress("listen", "127.1:0"));
  ASSERT_OK_AND_ASSIGN(const auto server,
                       HttpServer::Open("listen", "127.1:0", {},
                                        {{"GET /", [](const HttpRequest&) {
                                            return HttpAnswer{.body = "here"};
                                          }}}));
  EXPECT_EQ(GetHttp(server->port(), "/").body, "here");
}

TEST_F(HttpServerTest, EachThreadThatAnswersBeginsAsItIsTold) {
  static thread_local bool has_begun = false;
  ASSERT_OK_AND_ASSIGN(
      const auto server,
      HttpServer::Open("listen", "127.0.0.1:0", {.threads = 3},
                       {{"GET /",
                         [](const HttpRequest&) {
                           return HttpAnswer{.body = has_begun ? "has begun"
                                                               : "has not"};
                         }}},
                       {.begin_thread = [] { has_begun = true; }}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(GetHttp(server->port(), "/").body, "has begun");
  }
}

TEST_F(HttpServerTest, CountsEveryAnswer) {
  std::mutex mutex;
  std::map<std::string, int> counts;
  Open({.max_body_bytes = 1024},
       {.count = [&](absl::string_view path, int code) {
         const std::lock_guard lock(mutex);
         ++counts[absl::StrCat(path, " ", code)];
       }});
  GetHttp(port(), "/page");
  GetHttp(port(), "/page", "Origin: http://example.org\r\n");
  GetHttp(port(), "/echo");
  GetHttp(port(), "/age");
  PostJson(port(), "/echo", std::string(2000, 'x'));
  AskHttp(port(), "nonsense\r\n\r\n");
  const std::lock_guard lock(mutex);
  EXPECT_THAT(
      counts,
      testing::UnorderedElementsAre(
          testing::Pair("/page 200", 1), testing::Pair("/page 403", 1),
          testing::Pair("/echo 405", 1), testing::Pair("other 404", 1),
          testing::Pair("/echo 413", 1), testing::Pair("other 400", 1)));
}

TEST_F(HttpServerTest, ReadsNoBodyThatIsNotWanted) {
  Open({}, {.wants_body = [](const HttpRequest& request) {
         return request.header("x-extra") == "please";
       }});
  EXPECT_THAT(PostJson(port(), "/echo", "hello", "X-Extra: please\r\n").body,
              HasSubstr("[hello]"));
  // It has not even come.
  const HttpReply reply = AskHttp(port(),
                                  "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
                                  "Content-Length: 5\r\n\r\n");
  EXPECT_THAT(reply.body, HasSubstr("[]"));
  EXPECT_EQ(reply.headers.at("connection"), "close");
}

TEST_F(HttpServerTest, AProgramStillLearnsHowItsChildrenEnd) {
  const auto before = ::signal(SIGCHLD, SIG_DFL);
  Open({});
  EXPECT_EQ(::signal(SIGCHLD, before), SIG_DFL);
}

}  // namespace
}  // namespace sortition
