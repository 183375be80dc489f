// What health says while requests cannot be answered as they should.
#include <grpcpp/client_context.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using grpc::health::v1::HealthCheckResponse;

class HealthTest : public testing::Test {
 protected:
  void StartServer(const std::vector<std::string>& flags) {
    ASSERT_OK(deployment_.StartServer(flags));
    health_ = grpc::health::v1::Health::NewStub(deployment_.NewChannel());
    ranking_ = v1::Ranking::NewStub(deployment_.NewChannel());
  }

  HealthCheckResponse::ServingStatus HealthOf(const std::string& service) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    EXPECT_TRUE(health_->Check(&context, request, &response).ok());
    return response.status();
  }

  // Whether requests are welcome; the control calls always are.
  bool Serves() {
    const auto status = HealthOf("");
    EXPECT_EQ(HealthOf("sortition.v1.Models"), HealthCheckResponse::SERVING);
    return status == HealthCheckResponse::SERVING &&
           HealthOf("sortition.v1.Ranking") == status;
  }

  grpc::Status Select() {
    grpc::ClientContext context;
    v1::SelectRequest request;
    *request.mutable_context() = MakeContext(10, 8, 1);
    v1::SelectResponse response;
    return ranking_->Select(&context, request, &response);
  }

  Deployment deployment_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
  std::unique_ptr<v1::Ranking::Stub> ranking_;
};

TEST_F(HealthTest, WithoutTheModelThatIsRequired) {
  StartServer({"--require_model"});
  EXPECT_FALSE(Serves());
  // What asks all the same is answered.
  EXPECT_TRUE(Select().ok());
  model::v1::Model other = SelectionModel(8, 0.1);
  other.set_name("other");
  ASSERT_OK(deployment_.store().Publish(other, nullptr, {}));
  EXPECT_FALSE(Serves());
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] { return Serves(); }));
}

TEST_F(HealthTest, WithALogThatTakesNoMore) {
  StartServer({"--spool.max_bytes=131072", "--spool.segment_bytes=65536"});
  EXPECT_TRUE(Serves());
  grpc::Status status;
  while ((status = Select()).ok()) {
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] { return !Serves(); }));
  // A sidecar that is done with them removes segments.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto names = ListSegments(deployment_.spool());
    EXPECT_OK(names.status());
    for (const std::string& name : *names) {
      const std::string path = absl::StrCat(deployment_.spool(), "/", name);
      const auto is_live = SegmentHasLiveWriter(path);
      if (is_live.ok() && !*is_live) std::filesystem::remove(path);
    }
    return Serves();
  }));
  EXPECT_TRUE(Select().ok());
}

// Who asked for answers in any case is not sent elsewhere.
TEST_F(HealthTest, WithALogThatMayLoseRecords) {
  StartServer({"--spool.max_bytes=131072", "--spool.segment_bytes=65536",
               "--spool.when_full=COUNT"});
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(Select().ok());
    const auto metrics = deployment_.ServerMetrics();
    return metrics.ok() &&
           MetricSum(*metrics, "sortition_spool_state{state=\"full\"") == 1;
  }));
  EXPECT_TRUE(Serves());
}

}  // namespace
}  // namespace sortition
