// What a call over HTTP hands on to gRPC, and what comes back.
#include "server/http/json_calls.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/identity/authorizer.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Remembers the call, and answers what it was told.
class FakeRanking final : public v1::Ranking::Service {
 public:
  grpc::Status Select(grpc::ServerContext* context,
                      const v1::SelectRequest* request,
                      v1::SelectResponse* response) override {
    metadata.clear();
    for (const auto& [key, value] : context->client_metadata()) {
      metadata[{key.data(), key.size()}] = {value.data(), value.size()};
    }
    deadline = context->deadline();
    model = request->context().model();
    peer = PeerName(*context);
    if (!pushback.empty()) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
    }
    *response = answer;
    return status;
  }

  grpc::Status status;
  v1::SelectResponse answer;
  std::string pushback;
  std::map<std::string, std::string> metadata;
  std::chrono::system_clock::time_point deadline;
  std::string model;
  std::string peer;
};

class JsonCallsTest : public testing::Test {
 protected:
  JsonCallsTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&ranking_);
    server_ = builder.BuildAndStart();
  }

  HttpAnswer Select(std::map<std::string, std::string> headers = {},
                    JsonCallOptions options = {}) {
    headers.emplace("Content-Type", "application/json");
    const HttpRequest request = {.method = "POST",
                                 .path = "/v1/select",
                                 .query = "",
                                 .body = "{\"context\":{\"model\":\"m\"}}",
                                 .peer = "127.0.0.1:1234",
                                 .header = [&](absl::string_view name) {
                                   for (const auto& [key, value] : headers) {
                                     if (absl::EqualsIgnoreCase(key, name))
                                       return value;
                                   }
                                   return std::string();
                                 }};
    return MakeJsonCalls(server_->InProcessChannel({}), options)
        .at("POST /v1/select")(request);
  }

  FakeRanking ranking_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(JsonCallsTest, HandsOnWhoCallsAndWhatFor) {
  const HttpAnswer answer = Select({{"Authorization", "Bearer t"},
                                    {"X-Request-ID", "r 1"},
                                    {"traceparent", "00-1-2-01"},
                                    {"X-Other", "no"}});
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(ranking_.model, "m");
  EXPECT_EQ(ranking_.metadata.at("authorization"), "Bearer t");
  EXPECT_EQ(ranking_.metadata.at("x-request-id"), "r 1");
  EXPECT_EQ(ranking_.metadata.at("traceparent"), "00-1-2-01");
  EXPECT_EQ(ranking_.metadata.count("x-other"), 0u);
  EXPECT_EQ(ranking_.peer, "http:127.0.0.1:1234");
  EXPECT_THAT(answer.headers,
              testing::Contains(testing::Pair("X-Request-Id", "r 1")));
}

TEST_F(JsonCallsTest, NobodyElseCanClaimToHaveComeOverHttp) {
  grpc::ClientContext context;
  context.AddMetadata(kHttpPeerKey, "10.0.0.1:80");
  v1::SelectResponse response;
  EXPECT_TRUE(v1::Ranking::NewStub(server_->InProcessChannel({}))
                  ->Select(&context, {}, &response)
                  .ok());
  EXPECT_THAT(ranking_.peer, testing::Not(HasSubstr("http:")));
}

TEST_F(JsonCallsTest, GivesEveryCallADeadline) {
  // A slow machine may not answer in the second that a call has by default:
  // then the deadline was there.
  const auto expect_deadline = [&](std::map<std::string, std::string> headers,
                                   double seconds) {
    const std::chrono::duration<double> limit(seconds);
    const auto before = std::chrono::system_clock::now();
    const int code = Select(std::move(headers)).code;
    const auto after = std::chrono::system_clock::now();
    EXPECT_THAT(code, testing::AnyOf(200, 504));
    if (code != 200) return;
    // gRPC rounds upwards.
    EXPECT_GE(ranking_.deadline, before + limit);
    EXPECT_LE(ranking_.deadline,
              after + limit + std::chrono::milliseconds(100));
  };
  expect_deadline({}, 1);
  expect_deadline({{"X-Timeout-Ms", "10000"}}, 10);
}

TEST_F(JsonCallsTest, PrintsWhatIsZeroOrEmpty) {
  EXPECT_EQ(Select().body,
            "{\"abstain_probability\":0,\"abstained\":false,"
            "\"selected_id\":\"\"}\n");
  ranking_.answer.set_selected(0);
  ranking_.answer.mutable_result()->set_log_propensity(-0.1);
  EXPECT_THAT(Select().body,
              testing::AllOf(HasSubstr("\"selected\":0"),
                             HasSubstr("\"log_propensity\":-0.1"),
                             HasSubstr("\"probabilities\":[]")));
}

TEST_F(JsonCallsTest, SaysWhenToTryAgain) {
  const auto retry_after = [&](grpc::StatusCode code,
                               const std::string& milliseconds) {
    ranking_.status = grpc::Status(code, "later");
    ranking_.pushback = milliseconds;
    for (const auto& [name, value] : Select().headers) {
      if (name == "Retry-After") return value;
    }
    return std::string("none");
  };
  EXPECT_EQ(retry_after(grpc::StatusCode::RESOURCE_EXHAUSTED, "1500"), "2");
  EXPECT_EQ(retry_after(grpc::StatusCode::RESOURCE_EXHAUSTED, "20"), "1");
  EXPECT_EQ(retry_after(grpc::StatusCode::UNAVAILABLE, ""), "1");
  EXPECT_EQ(retry_after(grpc::StatusCode::INVALID_ARGUMENT, "1500"), "none");
}

TEST_F(JsonCallsTest, FailuresKeepCodeAndMessage) {
  ranking_.status =
      grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who is \"x\"?");
  const HttpAnswer answer = Select();
  EXPECT_EQ(answer.code, 401);
  EXPECT_EQ(answer.body,
            "{\"code\":\"UNAUTHENTICATED\",\"message\":\"who is \\\"x\\\"?\"}"
            "\n");
  EXPECT_THAT(answer.headers,
              testing::Contains(testing::Pair("WWW-Authenticate", "Bearer")));
}

TEST_F(JsonCallsTest, RefusesAllCallsWhereClientsMustShowACertificate) {
  const HttpAnswer answer = Select({}, {.needs_certificate = true});
  EXPECT_EQ(answer.code, 403);
  EXPECT_THAT(answer.body, HasSubstr("client certificate"));
  EXPECT_EQ(ranking_.model, "");
}

TEST_F(JsonCallsTest, CoversEveryUnaryCallOfTheServices) {
  size_t num_methods = 0;
  for (const auto* const service :
       {MethodOf(JsonCalls().front())->service(),
        v1::ListModelsRequest::descriptor()->file()->service(0)}) {
    for (int i = 0; i < service->method_count(); ++i) {
      num_methods += !service->method(i)->client_streaming();
    }
  }
  EXPECT_EQ(JsonCalls().size(), num_methods);
}

}  // namespace
}  // namespace sortition
