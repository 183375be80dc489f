// `top --once` against HTTP ports of this process.
#include "client/top/top_command.h"

#include <map>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "process/http/http_server.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// A port that answers /status.json with `json`.
std::unique_ptr<HttpServer> Serve(const std::string& json) {
  std::map<std::string, HttpHandler> routes;
  routes["GET /status.json"] = [json](const HttpRequest&) {
    return HttpAnswer{.content_type = "application/json", .body = json};
  };
  auto server = HttpServer::Open("listen", "127.0.0.1:0", HttpLimits(),
                                 std::move(routes));
  EXPECT_OK(server);
  return server.ok() ? *std::move(server) : nullptr;
}

class TopCommandTest : public testing::Test {
 protected:
  absl::Status Top(const std::string& server, const std::string& sidecar) {
    config::v1::TopOptions options;
    options.set_once(true);
    options.set_server(server);
    options.set_sidecar(sidecar);
    CommandOutput output{out_, error_};
    return RunTop(options, {}, &output);
  }

  std::ostringstream out_;
  std::ostringstream error_;
};

TEST_F(TopCommandTest, ShowsBothOnce) {
  const auto server =
      Serve(R"({"process": {"role": "server"}, "server": {"ready": true}})");
  const auto sidecar =
      Serve(R"({"process": {"role": "sidecar"}, "sidecar": {"tuples": "12"}})");
  ASSERT_OK(Top(absl::StrCat("http://127.0.0.1:", server->port()),
                absl::StrCat("127.0.0.1:", sidecar->port())));
  EXPECT_THAT(out_.str(),
              testing::AllOf(HasSubstr("\n  ready\n"), HasSubstr("12 tuples"),
                             testing::Not(HasSubstr("\x1b"))));
}

TEST_F(TopCommandTest, SaysWhoDoesNotAnswerAndShowsTheRest) {
  const auto server =
      Serve(R"({"process": {"role": "server"}, "server": {"ready": true}})");
  // Nobody listens on port 1 of the loopback.
  EXPECT_THAT(
      Top(absl::StrCat("127.0.0.1:", server->port()), "127.0.0.1:1"),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1:1")));
  EXPECT_THAT(out_.str(), HasSubstr("\n  ready\n"));
}

TEST_F(TopCommandTest, NeedsSomebodyToAsk) {
  EXPECT_TRUE(IsUsageError(Top("", "")));
  EXPECT_TRUE(IsUsageError(Top("https://x:1", "")));
}

}  // namespace
}  // namespace sortition
