// Calls over the wire and their answers.
#include "server/rpc/grpc_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/server/rpc/grpc_server_fixture.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;
using testing::AllOf;
using testing::HasSubstr;

// Makes a unary call by name with a message of raw bytes.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& method, const std::string& request,
                     std::string* response) {
  grpc::ClientContext context;
  grpc::Slice slice(request);
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::ByteBuffer received;
  std::promise<grpc::Status> done;
  grpc::GenericStub(channel).UnaryCall(
      &context, method, grpc::StubOptions(), &sent, &received,
      [&](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  if (status.ok()) {
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(received.Dump(&slices).ok());
    response->clear();
    for (const grpc::Slice& part : slices) {
      response->append(reinterpret_cast<const char*>(part.begin()),
                       part.size());
    }
  }
  return status;
}

TEST_F(GrpcServerTest, AnswersEveryMethod) {
  auto sets = MakeModel("sets", {1, 2});
  sets.mutable_policy()->mutable_independent_subset();
  Publish(options_.model_store(), sets);
  StartServer();
  v1::RankResponse ranked;
  ASSERT_TRUE(Rank(GoodRank(), &ranked).ok());
  EXPECT_EQ(ranked.order_size(), 3);
  EXPECT_EQ(ranked.result().model().version(), 1u);

  v1::LabelRequest label;
  *label.mutable_context() = GoodRank().context();
  label.mutable_context()->set_model("sets");
  label.set_k(2);
  v1::LabelResponse labelled;
  grpc::ClientContext label_context;
  ASSERT_TRUE(ranking_->Label(&label_context, label, &labelled).ok());
  EXPECT_EQ(labelled.chosen_size(), 2);

  v1::ReportShownRequest shown;
  shown.set_decision_id(ranked.result().decision_id());
  *shown.mutable_shown() = ranked.order();
  v1::ReportShownResponse shown_response;
  grpc::ClientContext shown_context;
  EXPECT_TRUE(
      ranking_->ReportShown(&shown_context, shown, &shown_response).ok());

  v1::ReportFeedbackRequest feedback;
  v1::Feedback& item = *feedback.add_feedback();
  item.set_feedback_id("f");
  item.set_decision_id(ranked.result().decision_id());
  item.set_reward(1);
  v1::ReportFeedbackResponse feedback_response;
  grpc::ClientContext feedback_context;
  EXPECT_TRUE(
      ranking_->ReportFeedback(&feedback_context, feedback, &feedback_response)
          .ok());
  EXPECT_EQ(feedback_response.accepted(), 1u);

  v1::SelectRequest select;
  *select.mutable_context() = GoodRank().context();
  v1::SelectResponse selected;
  grpc::ClientContext select_context;
  EXPECT_EQ(ranking_->Select(&select_context, select, &selected).error_code(),
            StatusCode::FAILED_PRECONDITION);

  v1::ListModelsResponse models;
  grpc::ClientContext models_context;
  ASSERT_TRUE(v1::Models::NewStub(channel_)
                  ->ListModels(&models_context, {}, &models)
                  .ok());
  ASSERT_EQ(models.models_size(), 2);
  EXPECT_EQ(models.models(0).name(), "m");

  EXPECT_THAT(
      server_->metrics().Text(),
      AllOf(
          HasSubstr("sortition_requests_total{code=\"OK\",method=\"Rank\"} 1"),
          HasSubstr("sortition_requests_total{code=\"FAILED_PRECONDITION\","
                    "method=\"Select\"} 1"),
          HasSubstr("sortition_request_seconds_count{method=\"Rank\"} 1"),
          HasSubstr("sortition_chosen_count 1"),
          HasSubstr("sortition_spool_records_total 4"),
          HasSubstr("sortition_feedback_total 1")));
  EXPECT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), testing::SizeIs(4));
}

TEST_F(GrpcServerTest, ListModelsTellsWhatServesAndWhatWasRefused) {
  std::filesystem::create_directory(options_.model_store() + "/m/2");
  StartServer();
  v1::ListModelsResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(
      v1::Models::NewStub(channel_)->ListModels(&context, {}, &response).ok());
  ASSERT_EQ(response.models_size(), 1);
  const v1::ModelStatus& model = response.models(0);
  EXPECT_EQ(model.name(), "m");
  EXPECT_EQ(model.version(), 1u);
  EXPECT_EQ(model.policy(), "plackett_luce");
  EXPECT_EQ(model.num_features(), 2u);
  EXPECT_EQ(model.checksum().size(), 32u);
  EXPECT_GT(model.loaded_time_us(), 0);
  ASSERT_EQ(model.rejected_size(), 1);
  EXPECT_EQ(model.rejected(0).version(), 2u);
  EXPECT_THAT(model.rejected(0).reason(), HasSubstr("missing_file: "));
}

TEST_F(GrpcServerTest, ErrorsKeepTheirCodeAndMessage) {
  StartServer();
  v1::RankResponse response;
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_model("nobody");
  grpc::Status status = Rank(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(),
            "context.model = \"nobody\": no such model; must be one of m, or "
            "empty for m");
  request = GoodRank();
  request.set_top_k(0);
  status = Rank(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("top_k = 0"));
}

TEST_F(GrpcServerTest, UnreadableRequestsAreInvalidArgument) {
  StartServer();
  std::string response;
  // A length beyond the end of the message.
  grpc::Status status =
      CallRaw(channel_, "/sortition.v1.Ranking/Rank", "\x0a\x7f", &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("sortition.v1.RankRequest"));
  // decision_id (field 1 of context, field 1) that is not UTF-8.
  status = CallRaw(channel_, "/sortition.v1.Ranking/Rank",
                   std::string("\x0a\x03\x0a\x01\xff", 5), &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), testing::IsEmpty());
}

TEST_F(GrpcServerTest, TooLargeRequestsAreResourceExhausted) {
  options_.mutable_limits()->set_max_message_bytes(1024);
  StartServer();
  v1::RankRequest request = GoodRank();
  SetDense(2, std::vector<float>(600), request.mutable_context());
  v1::RankResponse response;
  EXPECT_EQ(Rank(request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcServerTest, LargeRequestsAreAnsweredAgainAndAgain) {
  StartServer();
  v1::RankRequest large = GoodRank();
  // Larger than what a slot keeps between calls.
  SetDense(2, std::vector<float>(600'000 / 3, 0.5f), large.mutable_context());
  large.set_top_k(1);
  v1::RankResponse response;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Rank(large, &response).ok());
    ASSERT_TRUE(Rank(GoodRank(), &response).ok());
    EXPECT_EQ(response.order_size(), 3);
  }
}

TEST_F(GrpcServerTest, ReflectionOnlyWhereAsked) {
  for (const bool reflection : {false, true, false}) {
    options_.set_reflection(reflection);
    StartServer();
    // A unary call with an empty request: a server that has the service ends
    // the stream without an error, others do not know the method.
    std::string answer;
    const grpc::Status status = CallRaw(
        channel_,
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "",
        &answer);
    EXPECT_EQ(status.error_code() == StatusCode::UNIMPLEMENTED, !reflection)
        << status.error_message();
    server_.reset();
  }
}

TEST_F(GrpcServerTest, PassedDeadlinesAreNotDecided) {
  StartServer();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() -
                       std::chrono::seconds(1));
  v1::RankResponse response;
  EXPECT_EQ(ranking_->Rank(&context, GoodRank(), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), testing::IsEmpty());
}

TEST_F(GrpcServerTest, CallsBeyondAConnectionsLimitWaitAtTheCaller) {
  options_.mutable_limits()->set_max_concurrent_streams(2);
  StartServer();
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  // Two calls that do not end.
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  HealthCheckResponse status;
  for (int i = 0; i < 2; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watches.push_back(stub->Watch(contexts.back().get(), {}));
    ASSERT_TRUE(watches.back()->Read(&status));
  }
  v1::RankResponse response;
  grpc::ClientContext impatient;
  impatient.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(200));
  EXPECT_EQ(ranking_->Rank(&impatient, GoodRank(), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);

  // Other connections have their own limits.
  grpc::ChannelArguments own_connection;
  own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  HealthStatus health;
  EXPECT_TRUE(Health(grpc::CreateCustomChannel(
                         absl::StrCat("127.0.0.1:", server_->rpc_port()),
                         grpc::InsecureChannelCredentials(), own_connection),
                     "", &health)
                  .ok());

  contexts[0]->TryCancel();
  EXPECT_EQ(watches[0]->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Rank(GoodRank(), &response).ok());
  contexts[1]->TryCancel();
  EXPECT_EQ(watches[1]->Finish().error_code(), StatusCode::CANCELLED);
}

TEST_F(GrpcServerTest, MemoryMustHoldTheLargestRequestTwice) {
  options_.mutable_limits()->set_max_message_bytes(10'000'000);
  options_.mutable_limits()->set_memory_bytes(19'999'999);
  EXPECT_THAT(Server::Start(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("limits.memory_bytes = 19999999"),
                             HasSubstr("at least 20000000"))));
  options_.mutable_limits()->set_memory_bytes(20'000'000);
  EXPECT_OK(Server::Start(options_));
}

TEST_F(GrpcServerTest, ARangeWithoutRewardsIsRefusedByName) {
  options_.mutable_feedback()->set_reward_min(1);
  options_.mutable_feedback()->set_reward_max(0.5);
  EXPECT_THAT(Server::Start(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "feedback.reward_min = 1: must be at most "
                       "feedback.reward_max = 0.5"));
  options_.mutable_feedback()->set_reward_max(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Server::Start(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("feedback.reward_max = nan")));
  options_.mutable_feedback()->set_reward_max(1);
  EXPECT_OK(Server::Start(options_));
}

TEST_F(GrpcServerTest, RewardsHaveTheRangeOfTheOptions) {
  options_.mutable_feedback()->set_reward_min(0);
  options_.mutable_feedback()->set_reward_max(1);
  StartServer();
  const auto report = [&](double reward) {
    v1::ReportFeedbackRequest request;
    v1::Feedback& item = *request.add_feedback();
    item.set_feedback_id("f");
    item.set_decision_id("d");
    item.set_reward(reward);
    v1::ReportFeedbackResponse response;
    grpc::ClientContext context;
    return ranking_->ReportFeedback(&context, request, &response);
  };
  EXPECT_TRUE(report(1).ok());
  const grpc::Status refused = report(100);
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("feedback[0]: reward = 100: must be in [0, 1]"));
}

TEST_F(GrpcServerTest, WritesItsPorts) {
  options_.set_metrics_listen("127.0.0.1:0");
  options_.set_port_file(directory_ / "ports");
  StartServer();
  std::ifstream file(options_.port_file());
  std::string rpc, metrics;
  int rpc_port = 0, metrics_port = 0;
  file >> rpc >> rpc_port >> metrics >> metrics_port;
  EXPECT_EQ(rpc, "rpc");
  EXPECT_EQ(rpc_port, server_->rpc_port());
  EXPECT_EQ(metrics, "metrics");
  EXPECT_EQ(metrics_port, server_->metrics_port());
}

TEST_F(GrpcServerTest, StartFailsOnATakenPortOrSpool) {
  StartServer();
  config::v1::ServerOptions second = options_;
  EXPECT_THAT(
      Server::Start(second),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("spool")));
  second.mutable_spool()->set_dir(directory_ / "spool2");
  second.set_listen(absl::StrCat("127.0.0.1:", server_->rpc_port()));
  EXPECT_THAT(Server::Start(second),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("listen = \""),
                             HasSubstr("must be a free host:port"))));
}

}  // namespace
}  // namespace sortition
