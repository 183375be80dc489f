#include "process/tracing/collector.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using config::v1::TracingOptions;
using testing::AllOf;
using testing::HasSubstr;

TracingOptions To(const std::string& endpoint) {
  TracingOptions options;
  options.set_endpoint(endpoint);
  return options;
}

TEST(CollectorTest, AppendsThePathOfTraces) {
  for (const auto& [endpoint, address, path] :
       {std::tuple{"http://127.0.0.1:4318", "127.0.0.1:4318", "/v1/traces"},
        std::tuple{"http://collector:80/", "collector:80", "/v1/traces"},
        std::tuple{"http://[::1]:4318/a/b/", "[::1]:4318", "/a/b/v1/traces"}}) {
    ASSERT_OK_AND_ASSIGN(const Collector found, FindCollector(To(endpoint)));
    EXPECT_EQ(found.address, address);
    EXPECT_EQ(found.path, path);
    EXPECT_EQ(found.headers, "");
  }
}

TEST(CollectorTest, NamesWhatIsWrongWithAnEndpoint) {
  for (const char* const endpoint :
       {"https://127.0.0.1:4318", "grpc://127.0.0.1:4317", "127.0.0.1:4318",
        "http://", "http://host", "http://:4318", "http://host:0",
        "http://host:65536", "http://host:x", "http://u@host:4318",
        "http://host:4318/a b", "http://host:4318/\r\nX: y",
        "HTTP://host:4318"}) {
    EXPECT_THAT(
        ValidateTracing(To(endpoint)),
        StatusIs(StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(absl::StrCat("tracing.endpoint = \"", endpoint,
                                              "\": must be http://HOST:PORT")),
                       HasSubstr("OpenTelemetry Collector beside"))))
        << endpoint;
  }
}

TEST(CollectorTest, OptionsWithoutAnEndpointAreRefused) {
  EXPECT_OK(ValidateTracing({}));
  TracingOptions options;
  options.set_sample_rate(0.1);
  EXPECT_THAT(ValidateTracing(options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("tracing.endpoint = \"\": must be set")));
}

TEST(CollectorTest, ReadsHeadersFromAFile) {
  const TempDir dir;
  TracingOptions options = To("http://127.0.0.1:4318");
  options.set_headers_file(dir.path() + "/headers");
  EXPECT_THAT(ValidateTracing(options), StatusIs(StatusCode::kNotFound));
  ASSERT_OK(WriteFile(options.headers_file(),
                      "# the key of the team\nX-Key:  s3cret \r\n\nA: b c\n"));
  ASSERT_OK_AND_ASSIGN(const Collector found, FindCollector(options));
  EXPECT_EQ(found.headers, "X-Key: s3cret\r\nA: b c\r\n");
  for (const char* const line :
       {"X-Key s3cret", ": s3cret", "X-Key:", "X Key: s3cret",
        "content-type: s3cret", "Host: s3cret",
        "X: s3\x01"
        "cret"}) {
    ASSERT_OK(WriteFile(options.headers_file(), absl::StrCat("A: b\n", line)));
    const absl::Status status = ValidateTracing(options);
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument,
                                 HasSubstr("line 2 must be NAME: VALUE")))
        << line;
    EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("cret")));
  }
}

ExportOutcome OutcomeOf(const std::string& answer) {
  const HostilePeer peer([&](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, answer);
  });
  const Collector collector = {
      .address = peer.address(), .path = "/v1/traces", .headers = ""};
  return collector.Post("", std::chrono::seconds(20)).outcome;
}

TEST(CollectorTest, TellsOutcomesApart) {
  EXPECT_EQ(OutcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            ExportOutcome::kSent);
  EXPECT_EQ(OutcomeOf("HTTP/1.1 202 Accepted\r\n\r\n"), ExportOutcome::kSent);
  EXPECT_EQ(OutcomeOf("HTTP/1.1 400 Bad\r\n\r\n"), ExportOutcome::kRejected);
  EXPECT_EQ(OutcomeOf("HTTP/1.1 500 Oh\r\n\r\n"), ExportOutcome::kRejected);
  for (const int code : {429, 502, 503, 504}) {
    EXPECT_EQ(OutcomeOf(absl::StrCat("HTTP/1.1 ", code, " Later\r\n\r\n")),
              ExportOutcome::kOverloaded);
  }
  EXPECT_EQ(OutcomeOf("nonsense"), ExportOutcome::kUnreachable);
  EXPECT_EQ(OutcomeOf(""), ExportOutcome::kUnreachable);
}

TEST(CollectorTest, PostsOneRequest) {
  FakeCollector fake;
  ASSERT_OK_AND_ASSIGN(Collector collector, FindCollector(fake.options()));
  collector.headers = "X-Key: a\r\n";
  const std::string body = "{\"resourceSpans\":[]}";
  EXPECT_EQ(collector.Post(body, std::chrono::seconds(20)).message, "");
  ASSERT_EQ(fake.requests().size(), 1u);
  EXPECT_EQ(fake.requests()[0].body, body);
  EXPECT_EQ(fake.requests()[0].content_type, "application/json");
  EXPECT_EQ(fake.requests()[0].key, "a");
}

}  // namespace
}  // namespace sortition
