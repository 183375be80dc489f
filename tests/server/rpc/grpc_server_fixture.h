#pragma once
// The whole server in this process, on free ports, called through real stubs.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "gtest/gtest.h"
#include "server/rpc/health_service.h"
#include "server/server.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

inline grpc::Status Health(const std::shared_ptr<grpc::Channel>& channel,
                           const std::string& service, HealthStatus* status) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse response;
  request.set_service(service);
  const grpc::Status result = grpc::health::v1::Health::NewStub(channel)->Check(
      &context, request, &response);
  *status = response.status();
  return result;
}

class GrpcServerTest : public testing::Test {
 protected:
  GrpcServerTest() {
    options_.set_listen("127.0.0.1:0");
    options_.set_metrics_listen("");
    options_.mutable_http()->set_listen("");
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("m");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    options_.mutable_spool()->set_segment_bytes(65536);
    // Under sanitizers calls wait longer than a server should let them.
    options_.mutable_admission()->set_max_wait_seconds(60);
    Publish(options_.model_store(), MakeRankModel("m", {1, 2}));
  }

  void StartServer() {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start(options_));
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->rpc_port()),
                            grpc::InsecureChannelCredentials());
    ranking_ = v1::Ranking::NewStub(channel_);
  }

  static v1::RankRequest GoodRank() {
    v1::RankRequest request;
    SetDense(2, {1, 0, 0, 1, 1, 1}, request.mutable_context());
    return request;
  }

  grpc::Status Rank(const v1::RankRequest& request,
                    v1::RankResponse* response) {
    grpc::ClientContext context;
    return ranking_->Rank(&context, request, response);
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Ranking::Stub> ranking_;
};

}  // namespace sortition
