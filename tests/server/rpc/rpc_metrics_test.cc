// What /metrics says of calls, under the names that dashboards of others know.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

constexpr char kRank[] =
    "grpc_method=\"Rank\",grpc_service=\"sortition.v1.Ranking\","
    "grpc_type=\"unary\"";
constexpr char kStream[] =
    "grpc_method=\"RankStream\",grpc_service=\"sortition.v1.Ranking\","
    "grpc_type=\"bidi_stream\"";
constexpr char kCheck[] =
    "grpc_method=\"Check\",grpc_service=\"grpc.health.v1.Health\","
    "grpc_type=\"unary\"";

class RpcMetricsTest : public GrpcServerTest {
 protected:
  std::vector<std::string> Lines() {
    return absl::StrSplit(server_->metrics().Text(), '\n');
  }
  // A client may have its answer before the server has counted it.
  void ExpectLine(const std::string& name, const std::string& labels,
                  int value) {
    const std::string line = absl::StrCat(name, "{", labels, "} ", value);
    EXPECT_TRUE(PollUntil(Patience(30), [&] {
      return testing::Value(Lines(), Contains(line));
    })) << line;
  }
  void ExpectHandled(const std::string& code, const std::string& labels,
                     int value) {
    ExpectLine("grpc_server_handled_total",
               absl::StrCat("grpc_code=\"", code, "\",", labels), value);
  }
};

// Three good calls and one that is refused.
TEST_F(RpcMetricsTest, CountUnaryCallsAndTheirMessages) {
  StartServer();
  v1::RankResponse response;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Rank(GoodRank(), &response).ok());
  EXPECT_EQ(Rank(v1::RankRequest(), &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  HealthStatus status;
  ASSERT_TRUE(Health(channel_, "", &status).ok());
  ExpectLine("grpc_server_started_total", kRank, 4);
  ExpectLine("grpc_server_msg_received_total", kRank, 4);
  ExpectLine("grpc_server_msg_sent_total", kRank, 3);
  ExpectHandled("OK", kRank, 3);
  ExpectHandled("InvalidArgument", kRank, 1);
  ExpectLine("grpc_server_handling_seconds_count", kRank, 4);
  ExpectLine("sortition_request_seconds_count", "method=\"Rank\"", 4);
  ExpectHandled("OK", kCheck, 1);
  ExpectLine("sortition_requests_total", "code=\"OK\",method=\"HealthCheck\"",
             1);
  // Codes that never occurred have no series.
  EXPECT_THAT(Lines(),
              Not(Contains(AllOf(StartsWith("grpc_server_handled_total"),
                                 testing::HasSubstr("Unavailable")))));
}

// Its requests count one by one, the call once, with the code of its end.
TEST_F(RpcMetricsTest, CountAStreamOnceAndAllOfItsMessages) {
  StartServer();
  grpc::ClientContext context;
  const auto stream = ranking_->RankStream(&context);
  v1::RankStreamRequest good;
  *good.mutable_rank() = GoodRank();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(stream->Write(good));
  ASSERT_TRUE(stream->Write(v1::RankStreamRequest()));  // Is refused.
  v1::RankStreamResponse answer;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream->Read(&answer));
  EXPECT_TRUE(answer.has_error());
  ExpectLine("grpc_server_started_total", kStream, 1);
  EXPECT_THAT(Lines(),
              Not(Contains(AllOf(StartsWith("grpc_server_handled_total"),
                                 testing::HasSubstr("RankStream")))));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
  ExpectHandled("OK", kStream, 1);
  ExpectLine("grpc_server_msg_received_total", kStream, 5);
  ExpectLine("grpc_server_msg_sent_total", kStream, 5);
  ExpectLine("grpc_server_handling_seconds_count", kStream, 1);
  ExpectLine("sortition_requests_total", "code=\"OK\",method=\"RankStream\"",
             4);
}

TEST_F(RpcMetricsTest, AStreamThatItsCallerCancelsIsCanceled) {
  StartServer();
  grpc::ClientContext context;
  const auto stream = ranking_->RankStream(&context);
  v1::RankStreamRequest good;
  *good.mutable_rank() = GoodRank();
  ASSERT_TRUE(stream->Write(good));
  v1::RankStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectHandled("Canceled", kStream, 1);
}

TEST_F(RpcMetricsTest, ReadyFollowsHealth) {
  options_.set_require_model(true);
  options_.set_default_model("later");
  StartServer();
  EXPECT_THAT(Lines(), Contains("sortition_ready 0"));
  Publish(options_.model_store(), MakeRankModel("later", {1, 2}));
  EXPECT_TRUE(PollUntil(Patience(30), [&] {
    return testing::Value(Lines(), Contains("sortition_ready 1"));
  }));
  HealthStatus status;
  ASSERT_TRUE(Health(channel_, "", &status).ok());
  EXPECT_EQ(status, grpc::health::v1::HealthCheckResponse::SERVING);
}

}  // namespace
}  // namespace sortition
