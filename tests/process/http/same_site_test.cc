// Requests that pages of other sites make a browser send.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/process/http/http_server_fixture.h"
#include "tests/testing/http_client.h"

namespace sortition {
namespace {

class SameSiteTest : public HttpServerFixture {};

TEST_F(SameSiteTest, RefusesPagesOfOtherSites) {
  const auto ask = [&](const std::string& host, const std::string& origin) {
    return AskHttp(port(), absl::StrCat("POST /echo HTTP/1.1\r\nHost: ", host,
                                        "\r\nOrigin: ", origin,
                                        "\r\nContent-Length: 0\r\n\r\n"))
        .code;
  };
  EXPECT_EQ(ask("localhost:8503", "http://localhost:8503"), 200);
  EXPECT_EQ(ask("127.0.0.1:8503", "https://127.0.0.1:8503"), 200);
  EXPECT_EQ(ask("localhost:8503", "http://example.org"), 403);
  EXPECT_EQ(ask("localhost:8503", "null"), 403);
  EXPECT_EQ(ask("localhost:8503", "http://localhost:8504"), 403);
  EXPECT_EQ(ask("localhost:8503", "http://localhost:8503.example.org"), 403);
  // Somebody's DNS says that their name is an address of this machine.
  EXPECT_EQ(ask("example.org", "http://example.org"), 403);
  EXPECT_EQ(
      AskHttp(port(), "GET /page HTTP/1.1\r\nHost: example.org\r\n\r\n").code,
      403);
  EXPECT_EQ(AskHttp(port(), "GET /page HTTP/1.1\r\n\r\n").code, 400);
  EXPECT_EQ(AskHttp(port(), "GET /page HTTP/1.0\r\n\r\n").code, 200);
  EXPECT_EQ(
      AskHttp(port(),
              "GET /page HTTP/1.1\r\nHost: localhost\r\nHost: a.b\r\n\r\n")
          .code,
      400);
}

TEST_F(SameSiteTest, TakesTheNamesThatItIsGiven) {
  // By address, as from elsewhere.
  Open({.hosts = {"sortition.example.com", "other.example:8443"}}, {},
       "0.0.0.0:0");
  const auto ask = [&](const std::string& method, const std::string& host,
                       const std::string& origin) {
    return AskHttp(port(),
                   absl::StrCat(method, " HTTP/1.1\r\nHost: ", host, "\r\n",
                                origin.empty() ? "" : "Origin: ", origin,
                                origin.empty() ? "" : "\r\n",
                                "Content-Length: 0\r\n\r\n"))
        .code;
  };
  const std::string post = "POST /echo";
  EXPECT_EQ(ask(post, "evil.example:8503", "http://evil.example:8503"), 403);
  EXPECT_EQ(ask(post, "evil.example:8503", ""), 403);
  EXPECT_EQ(ask("GET /page", "evil.example", ""), 403);
  EXPECT_EQ(ask(post, "127.evil.example", ""), 403);
  EXPECT_EQ(ask(post, "10.1.2.3:8503", ""), 200);
  EXPECT_EQ(ask(post, "[fe80::1]:8503", "http://[fe80::1]:8503"), 200);
  EXPECT_EQ(ask(post, "localhost:8503", ""), 200);
  EXPECT_EQ(ask(post, "Sortition.example.com:8503", ""), 200);
  // A proxy in front of it, which keeps the Host or does not.
  const std::string origin = "https://sortition.example.com";
  EXPECT_EQ(ask(post, "sortition.example.com", origin), 200);
  EXPECT_EQ(ask(post, "localhost:8503", origin), 200);
  EXPECT_EQ(ask(post, "localhost:8503", origin + ":8443"), 403);
  EXPECT_EQ(ask(post, "localhost:8503", "https://other.example:8443"), 200);
  EXPECT_EQ(ask(post, "localhost:8503", "https://other.example"), 403);
  EXPECT_EQ(ask(post, "localhost:8503", "sortition.example.com"), 403);
  // Programs that watch know it by other names.
  EXPECT_EQ(ask("GET /metrics", "server:8503", ""), 200);
  EXPECT_EQ(ask("GET /metrics", "server:8503", "http://evil.example"), 403);
  EXPECT_EQ(ask("GET /metrics", "server.example:8503", ""), 200);
  EXPECT_EQ(ask("GET /status.json", "server:8503", ""), 200);
  EXPECT_EQ(ask("GET /status.json", "10.1.2.3:8503", ""), 200);
  EXPECT_EQ(ask("GET /status.json", "sortition.example.com", ""), 200);
  EXPECT_EQ(ask("GET /status.json", "evil.example:8503", ""), 403);
}

TEST_F(SameSiteTest, OnLoopbackNothingIsReadByForeignNames) {
  EXPECT_EQ(
      AskHttp(port(), "GET /metrics HTTP/1.1\r\nHost: server\r\n\r\n").code,
      403);
}

}  // namespace
}  // namespace sortition
