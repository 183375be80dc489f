// The HTTP port as part of the server: pages, identity, drain.
#include "server/http/http_port.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "process/threads.h"
#include "server/check_config.h"
#include "server/http/metrics_page.h"
#include "server/identity/identity.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

// SHA-256 of "decider" and of "operator".
constexpr char kTokens[] =
    "decide front-end "
    "61704f674c7b4ade5327ddcf63706766f2e0a5513c531f039021589bbba0a3f4\n"
    "admin ops "
    "06e55b633481f7bb072957eabcf110c972e86691c3cfedabe088024bffe42f23\n";

constexpr char kGoodRank[] =
    "{\"context\":{\"model\":\"rank\",\"candidates\":{\"num_features\":3,"
    "\"dense\":{\"values\":[1,0,0,0,1,0]}}}}";

using HttpPortTest = HttpPortFixture;

TEST_F(HttpPortTest, ServesItsPages) {
  StartServer();
  EXPECT_EQ(GetHttp(http_port(), "/healthz").body, "{\"status\":\"ALIVE\"}\n");
  EXPECT_EQ(GetHttp(http_port(), "/readyz").body, "{\"status\":\"SERVING\"}\n");
  EXPECT_EQ(GetHttp(http_port(), "/livez").body, "{\"status\":\"SERVING\"}\n");
  EXPECT_EQ(Post("/v1/rank", kGoodRank).code, 200);
  const HttpReply metrics = GetHttp(http_port(), "/metrics");
  EXPECT_THAT(metrics.headers.at("content-type"), HasSubstr("version=0.0.4"));
  EXPECT_THAT(metrics.body, HasSubstr("sortition_requests_total"));
  EXPECT_THAT(
      metrics.body,
      HasSubstr("sortition_http_requests_total{code=\"200\",path=\"/v1/rank\"}"
                " 1\n"));
  const HttpReply page = GetHttp(http_port(), "/");
  EXPECT_THAT(page.headers.at("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(page.body, HasSubstr("<!doctype html>"));
  EXPECT_EQ(GetHttp(http_port(), "/app.js").code, 200);
  const HttpReply status = GetHttp(http_port(), "/status.json");
  EXPECT_EQ(status.headers.at("content-type"), "application/json");
  EXPECT_THAT(status.body, HasSubstr("\"role\":\"server\""));
  EXPECT_EQ(GetHttp(http_port(), "/v1/rank").code, 405);
}

TEST_F(HttpPortTest, CountsWhatItRefuses) {
  StartServer();
  const auto count = [&](const std::string& labels) {
    const std::string text = GetHttp(http_port(), "/metrics").body;
    const size_t at =
        text.find(absl::StrCat("sortition_http_requests_total{", labels, "} "));
    return at == std::string::npos ? ""
                                   : text.substr(text.find("} ", at) + 2, 2);
  };
  for (int i = 1; i < 3; ++i) {
    GetHttp(http_port(), "/", "Origin: http://example.org\r\n");
    AskHttp(http_port(), "nonsense\r\n\r\n");
    EXPECT_EQ(count("code=\"403\",path=\"/\""), absl::StrCat(i, "\n"));
    EXPECT_EQ(count("code=\"400\",path=\"other\""), absl::StrCat(i, "\n"));
  }
}

TEST_F(HttpPortTest, AScrapeHasTheUsualPriority) {
  // Its locks are those of requests.
  const auto priority = [] {
    return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  };
  Metrics metrics;
  int of_scrape = -100;
  metrics.OnScrape([&] { of_scrape = priority(); });
  MetricsPage page(&metrics);
  std::thread([&] {
    YieldToOtherThreads();
    EXPECT_THAT(page.Text(), HasSubstr("sortition_build_info"));
  }).join();
  EXPECT_EQ(of_scrape, priority());
}

TEST_F(HttpPortTest, TakesTheNamesOfTheOption) {
  options_.mutable_http()->add_hosts("sortition.example.com");
  StartServer();
  const auto ask = [&](const std::string& origin) {
    return Post("/v1/models/list", "{}",
                absl::StrCat("Origin: ", origin, "\r\n", kPatient))
        .code;
  };
  EXPECT_EQ(ask("https://sortition.example.com"), 200);
  EXPECT_EQ(ask("https://evil.example.com"), 403);
}

TEST_F(HttpPortTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_OK(ValidateServerOptions(options_));
  config::v1::ServerOptions options = options_;
  options.mutable_http()->set_threads(32);
  options.mutable_http()->set_max_body_bytes(1 << 25);
  EXPECT_OK(ValidateServerOptions(options));
  options.mutable_http()->set_threads(33);
  EXPECT_THAT(ValidateServerOptions(options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("http.threads = 33, http.max_body_bytes = "
                                 "33554432: their product")));
  for (const char* const wrong :
       {"", "https://a.example", "a.example/", "a b"}) {
    options = options_;
    options.mutable_http()->add_hosts("good.example:8443");
    EXPECT_OK(ValidateServerOptions(options));
    options.mutable_http()->add_hosts(wrong);
    EXPECT_THAT(ValidateServerOptions(options),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("http.hosts = \"", wrong))));
  }
}

TEST_F(HttpPortTest, ModelsAreListedAndChanged) {
  StartServer();
  EXPECT_THAT(Post("/v1/models/list", "").body, HasSubstr("\"name\":\"rank\""));
  EXPECT_THAT(Post("/v1/models/describe", "{\"model\":\"rank\"}").body,
              HasSubstr("\"stored_change\":"));
  const HttpReply pinned = Post(
      "/v1/models/change",
      "{\"model\":\"rank\",\"reason\":\"test\",\"pin\":{\"version\":\"1\"}}");
  EXPECT_EQ(pinned.code, 200);
  EXPECT_THAT(pinned.body, HasSubstr("\"version\":\"1\""));
  // The change says who made it.
  EXPECT_THAT(pinned.body, HasSubstr("http:127.0.0.1:"));
  EXPECT_EQ(Post("/v1/models/reload", "{}").code, 200);
}

TEST_F(HttpPortTest, ModelsWithAPortOfTheirOwnAreNotChangedHere) {
  options_.set_control_listen("127.0.0.1:0");
  StartServer();
  for (const char* const path : {"/v1/models/list", "/v1/models/describe",
                                 "/v1/models/change", "/v1/models/reload"}) {
    const HttpReply reply = Post(path, "{}");
    EXPECT_EQ(reply.code, 501);
    EXPECT_THAT(reply.body, HasSubstr("control_listen"));
  }
  EXPECT_EQ(Post("/v1/rank", kGoodRank).code, 200);
}

TEST_F(HttpPortTest, SaysWhyItIsNotReady) {
  options_.set_require_model(true);
  std::filesystem::create_directories(options_.model_store() +
                                      "/fresh/0000001");
  StartServer();
  const HttpReply reply = GetHttp(http_port(), "/readyz");
  EXPECT_EQ(reply.code, 503);
  EXPECT_THAT(reply.body,
              testing::AllOf(HasSubstr("no version of the model \\\"fresh\\\""),
                             HasSubstr("not a version: fresh/0000001: "),
                             HasSubstr("rename it to 1")));
  EXPECT_EQ(GetHttp(http_port(), "/healthz").code, 200);
  // A new start would not bring a model.
  EXPECT_EQ(GetHttp(http_port(), "/livez").code, 200);
}

TEST_F(HttpPortTest, ADeadlineThatPassesIsSaid) {
  StartServer();
  std::string values = "1";
  for (int i = 1; i < 150'000; ++i) values += ",1";
  const HttpReply reply =
      Post("/v1/rank",
           absl::StrCat("{\"context\":{\"model\":\"rank\",\"candidates\":{"
                        "\"num_features\":3,\"dense\":{\"values\":[",
                        values, "]}}}}"),
           "X-Timeout-Ms: 1\r\n");
  EXPECT_EQ(reply.code, 504);
  EXPECT_THAT(reply.body, HasSubstr("DEADLINE_EXCEEDED"));
}

TEST_F(HttpPortTest, DrainsWhileItIsAsked) {
  options_.set_drain_grace_seconds(0.2);
  StartServer();
  const int port = http_port();
  std::atomic<int> num_answered{0};
  std::atomic<bool> is_over{false};
  std::thread asks([&] {
    while (!is_over) {
      const HttpReply reply = PostJson(port, "/v1/rank", kGoodRank);
      // Answered, refused by the server, or the port is closed.
      EXPECT_THAT(reply.code, testing::AnyOf(200, 503, 0)) << reply.body;
      if (reply.code == 200) ++num_answered;
      if (reply.code == 0) return;
    }
  });
  while (num_answered < 10) {
  }
  std::thread drains([&] { EXPECT_OK(server_->Drain()); });
  HttpReply ready = GetHttp(port, "/readyz");
  while (ready.code == 200) ready = GetHttp(port, "/readyz");
  EXPECT_THAT(ready.code, testing::AnyOf(503, 0));
  if (ready.code == 503) {
    EXPECT_THAT(ready.body, HasSubstr("draining"));
  }
  drains.join();
  is_over = true;
  asks.join();
}

TEST_F(HttpPortTest, ATakenPortIsAnErrorThatNamesTheOption) {
  StartServer();
  config::v1::ServerOptions options = options_;
  options.mutable_spool()->set_dir(directory_ / "spool2");
  options.mutable_http()->set_listen(absl::StrCat("127.0.0.1:", http_port()));
  EXPECT_THAT(Server::Start(options).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("http.listen")));
}

TEST_F(HttpPortTest, NoneWhereNoneIsAskedFor) {
  options_.mutable_http()->set_listen("");
  StartServer();
  EXPECT_EQ(http_port(), 0);
}

class HttpTokenTest : public HttpPortFixture {
 protected:
  HttpTokenTest() {
    const std::string file = directory_ / "tokens";
    // SHA-256 of "decider" and of "operator".
    EXPECT_OK(WriteFile(file, kTokens));
    options_.set_token_file(file);
  }
  HttpReply RankBy(const std::string& token) {
    return Post(
        "/v1/rank", kGoodRank,
        absl::StrCat("Authorization: Bearer ", token, "\r\n", kPatient));
  }
};

TEST_F(HttpTokenTest, TokensHoldAsOverGrpc) {
  StartServer();
  EXPECT_EQ(Post("/v1/rank", kGoodRank).code, 401);
  EXPECT_EQ(RankBy("nobody").code, 401);
  EXPECT_EQ(RankBy("decider").code, 200);
  EXPECT_EQ(RankBy("operator").code, 403);
  EXPECT_EQ(
      Post("/v1/models/list", "{}", "Authorization: Bearer decider\r\n").code,
      403);
  EXPECT_EQ(
      Post("/v1/models/list", "{}", "Authorization: Bearer operator\r\n").code,
      200);
  // As they are over gRPC.
  EXPECT_EQ(GetHttp(http_port(), "/readyz").code, 200);
  EXPECT_THAT(GetHttp(http_port(), "/status.json").body,
              HasSubstr("\"needs_token\":true"));
}

TEST_F(HttpTokenTest, WithoutATokenTheBodyIsNotAwaited) {
  StartServer();
  const auto ask = [&](const std::string& path, const std::string& token) {
    return AskHttp(
        http_port(),
        absl::StrCat("POST ", path,
                     " HTTP/1.1\r\nHost: localhost\r\n"
                     "Content-Type: application/json\r\n",
                     token, kPatient, "Content-Length: 1000000\r\n\r\n"));
  };
  const HttpReply none = ask("/v1/rank", "");
  EXPECT_EQ(none.code, 401);
  EXPECT_EQ(none.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(ask("/v1/models/change", "Authorization: Bearer nobody\r\n").code,
            401);
  EXPECT_EQ(ask("/v1/feedback", "Authorization: Bearer decider\r\n").code, 403);
  EXPECT_EQ(ask("/v1/models/list", "Authorization: Bearer decider\r\n").code,
            403);
}

TEST_F(HttpTokenTest, ReranksAndBatchesNeedTheTokensOfTheirCalls) {
  StartServer();
  const auto post = [&](const std::string& path, const std::string& token) {
    return Post(
        path,
        path == "/v1/batch"
            ? R"({"calls":[{"method":"rank","request":{"context":
                         {"candidates":["a"]}}},{"method":"feedback","request":
                         {"id":"d","reward":1}}]})"
            : R"({"query":"q","documents":["a"]})",
        absl::StrCat("Authorization: Bearer ", token, "\r\n", kPatient));
  };
  for (const char* const path : {"/v1/rerank", "/rerank", "/v1/batch"}) {
    EXPECT_EQ(post(path, "nobody").code, 401) << path;
    EXPECT_EQ(post(path, "nobody").headers.at("www-authenticate"), "Bearer");
    EXPECT_EQ(post(path, "operator").code, 403) << path;
    EXPECT_EQ(post(path, "decider").code, 200) << path;
  }
  // One that may decide may not report.
  EXPECT_THAT(
      post("/v1/batch", "decider").body,
      testing::AllOf(HasSubstr("\"status\":200"), HasSubstr("\"status\":403")));
}

TEST_F(HttpTokenTest, TokensAreNotTakenWhereOthersCanListen) {
  options_.mutable_http()->set_listen("0.0.0.0:0");
  EXPECT_THAT(ValidateIdentity(options_),
              StatusIs(StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("http.listen"),
                                      HasSubstr("readable on the way"))));
  // TLS of the RPC port does not help.
  options_.mutable_tls()->set_certificate_file("c");
  options_.mutable_tls()->set_key_file("k");
  EXPECT_FALSE(ValidateIdentity(options_).ok());
  options_.set_plaintext_tokens(true);
  EXPECT_OK(ValidateIdentity(options_));
}

}  // namespace
}  // namespace sortition
