#include "server/rpc/request_log.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/admission/waiting_calls.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kTrace[] =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class RequestLogTest : public GrpcServerTest {
 protected:
  // Returns the log lines of requests that `send` makes.
  template <typename Send>
  std::vector<std::string> LinesOf(const Send& send) {
    CaptureLog();
    StartServer();
    send();
    server_.reset();  // An answer arrives before its line is written.
    std::vector<std::string> lines;
    const std::string text = CapturedLog();
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (absl::StrContains(line, "\"method\":")) lines.emplace_back(line);
    }
    return lines;
  }

  grpc::StatusCode RankAs(const std::string& id, const std::string& model) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", id);
    context.AddMetadata("traceparent", kTrace);
    v1::RankRequest request = GoodRank();
    request.mutable_context()->set_model(model);
    v1::RankResponse response;
    return ranking_->Rank(&context, request, &response).error_code();
  }
};

TEST_F(RequestLogTest, RefusedRequestsAreLoggedUnderTheirNames) {
  options_.set_slow_request_seconds(3600);
  const auto lines = LinesOf([&] {
    EXPECT_EQ(RankAs("good", "m"), grpc::OK);
    EXPECT_EQ(RankAs("ab\"c" + std::string(300, 'd'), "none"), grpc::NOT_FOUND);
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(
      lines[0],
      AllOf(HasSubstr("\"message\":\"request refused\",\"method\":\"Rank\""),
            HasSubstr("\"code\":\"NOT_FOUND\""),
            HasSubstr("\"request_id\":\"ab\\\"c" + std::string(124, 'd') +
                      "\",\"traceparent\":\"" + kTrace + "\""),
            HasSubstr("\"left_out\":0")));
}

TEST_F(RequestLogTest, SlowRequestsAreLogged) {
  options_.set_slow_request_seconds(1e-9);
  const auto lines = LinesOf([&] { EXPECT_EQ(RankAs("slow", "m"), grpc::OK); });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("\"message\":\"slow request\""),
                              HasSubstr("\"request_id\":\"slow\""),
                              HasSubstr("\"code\":\"OK\"")));
}

TEST_F(RequestLogTest, RequestsOfAStreamAreLogged) {
  options_.set_slow_request_seconds(3600);
  const auto lines = LinesOf([&] {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", "stream");
    const auto stream = ranking_->RankStream(&context);
    v1::RankStreamRequest request;
    *request.mutable_rank() = GoodRank();
    ASSERT_TRUE(stream->Write(request));
    request.mutable_rank()->mutable_context()->set_model("none");
    ASSERT_TRUE(stream->Write(request));
    stream->WritesDone();
    v1::RankStreamResponse response;
    while (stream->Read(&response)) {
    }
    EXPECT_TRUE(stream->Finish().ok());
  });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("\"request_id\":\"stream\""),
                              HasSubstr("NOT_FOUND")));
}

TEST_F(RequestLogTest, NothingIsLoggedUnlessAskedFor) {
  EXPECT_THAT(LinesOf([&] { RankAs("refused", "none"); }), IsEmpty());
}

// Within one second at most ten, so of 100 in s seconds at most 10 (s + 1).
TEST_F(RequestLogTest, AFloodOfRefusalsIsCountedNotLogged) {
  RequestLog log(1);
  const grpc::ServerContext context;
  CaptureLog();
  const int64_t start = MonotonicNanos();
  for (int i = 0; i < 1000; ++i) {
    log.Note("Rank", context, absl::InternalError("x"), 0);
  }
  const int64_t seconds = (MonotonicNanos() - start) / 1'000'000'000;
  const std::string text = CapturedLog();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, RequestLog::kMostPerSecond);
  EXPECT_LE(lines, RequestLog::kMostPerSecond * (seconds + 2));
}

}  // namespace
}  // namespace sortition
