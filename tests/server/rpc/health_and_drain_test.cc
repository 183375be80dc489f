// Health and draining of the server.
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc/grpc_server.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;
using testing::HasSubstr;

class HealthAndDrainTest : public GrpcServerTest {};

TEST_F(HealthAndDrainTest, HealthPerService) {
  StartServer();
  HealthStatus health;
  for (const char* service :
       {"", "sortition.v1.Ranking", "sortition.v1.Models"}) {
    ASSERT_TRUE(Health(channel_, service, &health).ok()) << service;
    EXPECT_EQ(health, HealthCheckResponse::SERVING) << service;
  }
  EXPECT_EQ(Health(channel_, "no.such.Service", &health).error_code(),
            StatusCode::NOT_FOUND);
}

// Names the option, and ends no thread that there is not.
TEST_F(HealthAndDrainTest, AControlPortThatIsTakenIsAnError) {
  StartServer();
  config::v1::ServerOptions second = options_;
  second.mutable_spool()->set_dir(directory_ / "second");
  second.set_control_listen(absl::StrCat("127.0.0.1:", server_->rpc_port()));
  const absl::Status status = Server::Start(second).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("control_listen = "));
}

TEST_F(HealthAndDrainTest, RequiredModelMakesItServe) {
  options_.set_require_model(true);
  options_.set_default_model("later");
  StartServer();
  HealthStatus health;
  for (const char* service : {"", "sortition.v1.Ranking"}) {
    ASSERT_TRUE(Health(channel_, service, &health).ok());
    EXPECT_EQ(health, HealthCheckResponse::NOT_SERVING) << service;
  }
  ASSERT_TRUE(Health(channel_, "sortition.v1.Models", &health).ok());
  EXPECT_EQ(health, HealthCheckResponse::SERVING);
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::ClientContext context;
  HealthCheckResponse response;
  const auto watch = stub->Watch(&context, {});
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  Publish(options_.model_store(), MakeRankModel("later", {1, 2}));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  watch->Finish();
}

TEST_F(HealthAndDrainTest, ALogThatFailsIsToldEvenWhereLossIsCounted) {
  options_.mutable_spool()->set_when_full(config::v1::SpoolOptions::COUNT);
  StartServer();
  HealthStatus health;
  const auto serves = [&] {
    EXPECT_TRUE(Health(channel_, "", &health).ok());
    return health == HealthCheckResponse::SERVING;
  };
  EXPECT_TRUE(serves());
  {
    const FileFault fault({.call = FileCall::kWrite,
                           .path = options_.spool().dir(),
                           .error = EIO});
    v1::RankResponse response;
    EXPECT_TRUE(Rank(GoodRank(), &response).ok());
    EXPECT_TRUE(PollUntil(Patience(60), [&] { return !serves(); }));
  }
  EXPECT_TRUE(PollUntil(Patience(60), serves));
}

TEST_F(HealthAndDrainTest, HealthCanBeWatched) {
  StartServer();
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  HealthCheckResponse response;
  grpc::ClientContext unknown_context;
  request.set_service("no.such.Service");
  const auto unknown = stub->Watch(&unknown_context, request);
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  unknown_context.TryCancel();
  EXPECT_EQ(unknown->Finish().error_code(), StatusCode::CANCELLED);

  grpc::ClientContext context;
  request.set_service("sortition.v1.Ranking");
  const auto watch = stub->Watch(&context, request);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  std::thread drain([&] { EXPECT_OK(server_->Drain()); });
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), StatusCode::UNAVAILABLE);
  drain.join();
}

TEST_F(HealthAndDrainTest, OpenWatchesDoNotHoldUpTheDrain) {
  options_.set_drain_seconds(3600);
  StartServer();
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  // Nobody reads from them after the first status, which tells that the server
  // has taken up the call.
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  for (int i = 0; i < 20; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watches.push_back(stub->Watch(contexts.back().get(), {}));
  }
  for (const auto& watch : watches) {
    HealthCheckResponse response;
    ASSERT_TRUE(watch->Read(&response));
  }
  EXPECT_OK(server_->Drain());
  for (const auto& watch : watches) {
    HealthCheckResponse response;
    while (watch->Read(&response)) {
    }
    EXPECT_EQ(watch->Finish().error_code(), StatusCode::UNAVAILABLE);
  }
}

TEST_F(HealthAndDrainTest, RefusesWhileDraining) {
  Metrics metrics;
  ModelRegistry registry(options_, &metrics);
  ASSERT_OK(registry.Start());
  RankingService ranking(options_.limits(), &registry, nullptr, &metrics);
  AggregateService aggregates(options_.limits(), nullptr, &metrics);
  ReportService reports(options_.limits(), options_.feedback(), nullptr,
                        &metrics);
  ModelsService models(&registry);
  ASSERT_OK_AND_ASSIGN(const auto identity, Identity::Open(options_, &metrics));
  ASSERT_OK_AND_ASSIGN(
      const auto server,
      GrpcServer::Start(options_, *identity,
                        {&ranking, &aggregates, &reports, &models}, 0,
                        &metrics));
  channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server->port()),
                                 grpc::InsecureChannelCredentials());
  ranking_ = v1::Ranking::NewStub(channel_);
  v1::RankResponse response;
  EXPECT_TRUE(Rank(GoodRank(), &response).ok());

  server->AnnounceShutdown();
  HealthStatus health;
  ASSERT_TRUE(Health(channel_, "sortition.v1.Ranking", &health).ok());
  EXPECT_EQ(health, HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(Rank(GoodRank(), &response).ok());  // During the grace period.

  server->Refuse();
  const grpc::Status status = Rank(GoodRank(), &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  ASSERT_TRUE(Health(channel_, "", &health).ok());  // Still answered.
  EXPECT_EQ(health, HealthCheckResponse::NOT_SERVING);

  server->Shutdown(1);
  EXPECT_EQ(Rank(GoodRank(), &response).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(HealthAndDrainTest, DrainUnderLoadLosesNoAnsweredDecision) {
  options_.set_threads(2);
  StartServer();
  constexpr int kClients = 4;
  std::atomic<int> answered{0};
  std::atomic<int> ended{0};
  std::atomic<bool> other_error{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      v1::RankResponse response;
      while (true) {
        const grpc::Status status = Rank(GoodRank(), &response);
        if (status.ok()) {
          ++answered;
        } else {
          // CANCELLED is gRPC's own answer to a call that arrives while the
          // port closes.
          if (status.error_code() != StatusCode::UNAVAILABLE &&
              status.error_code() != StatusCode::CANCELLED) {
            other_error = true;
          }
          ++ended;
          return;
        }
      }
    });
  }
  while (answered < 500 && ended < kClients) std::this_thread::yield();
  EXPECT_GE(answered, 500);
  EXPECT_OK(server_->Drain());
  for (std::thread& client : clients) client.join();
  EXPECT_FALSE(other_error);
  // Of each client at most one decision is logged whose answer was cut off.
  const auto logged =
      static_cast<int>(ReadSpool(options_.spool().dir()).size());
  EXPECT_GE(logged, answered);
  EXPECT_LE(logged, answered + kClients);
}

}  // namespace
}  // namespace sortition
