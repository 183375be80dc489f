// The control plane over gRPC: changes, descriptions, codes, and what goes on
// while a version loads.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Versions 1 and 2 of "m", which ranks; 2 serves.
class ModelsTest : public GrpcServerTest {
 protected:
  void SetUp() override {
    Publish(options_.model_store(), MakeRankModel("m", {2, 1}));
    StartServer();
    models_ = v1::Models::NewStub(channel_);
  }

  grpc::Status Change(const std::function<void(v1::ChangeServingRequest*)>& set,
                      v1::ChangeServingResponse* response = nullptr) {
    v1::ChangeServingRequest request;
    request.set_reason("because");
    set(&request);
    grpc::ClientContext context;
    v1::ChangeServingResponse unused;
    return models_->ChangeServing(&context, request,
                                  response == nullptr ? &unused : response);
  }
  grpc::Status Pin(uint64_t version,
                   v1::ChangeServingResponse* response = nullptr) {
    return Change(
        [&](auto* request) { request->mutable_pin()->set_version(version); },
        response);
  }
  v1::DescribeModelResponse Describe(const std::string& model = "") {
    v1::DescribeModelRequest request;
    request.set_model(model);
    grpc::ClientContext context;
    v1::DescribeModelResponse response;
    const grpc::Status status =
        models_->DescribeModel(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::unique_ptr<v1::Models::Stub> models_;
};

TEST_F(ModelsTest, OnceAChangeIsAnsweredItServes) {
  v1::ChangeServingResponse response;
  for (int i = 0; i < 20; ++i) {
    const uint64_t version = 1 + i % 2;
    ASSERT_TRUE(Pin(version, &response).ok());
    EXPECT_EQ(response.version(), version);
    EXPECT_EQ(response.serving().change(), static_cast<uint64_t>(i + 1));
    EXPECT_THAT(response.serving().caller(), HasSubstr("127.0.0.1"));
    v1::RankResponse rank;
    ASSERT_TRUE(Rank(GoodRank(), &rank).ok());
    EXPECT_EQ(rank.result().model().version(), version);
  }
}

TEST_F(ModelsTest, DescribesVersionsUsesAndHistory) {
  ASSERT_TRUE(Pin(1).ok());
  ASSERT_TRUE(Change([](auto* request) {
                request->mutable_set_label()->set_name("next");
                request->mutable_set_label()->set_version(2);
              }).ok());
  const v1::DescribeModelResponse response = Describe();
  EXPECT_EQ(response.status().name(), "m");
  EXPECT_EQ(response.status().version(), 1u);
  ASSERT_EQ(response.versions_size(), 2);
  EXPECT_EQ(response.versions(1).version(), 2u);
  EXPECT_EQ(response.versions(1).error(), "");
  ASSERT_EQ(response.status().loaded_size(), 2);
  EXPECT_THAT(response.status().loaded(0).uses(),
              ElementsAre("serves, pinned"));
  EXPECT_THAT(response.status().loaded(1).uses(), ElementsAre("label next"));
  EXPECT_GT(response.status().loaded(1).bytes(), 0u);
  ASSERT_EQ(response.history_size(), 2);
  EXPECT_EQ(response.history(1).labels(0).name(), "next");
  EXPECT_EQ(response.stored_change(), 2u);
}

// What is compared with expected_change is the state in the store, also while
// it is not in force.
TEST_F(ModelsTest, AWrongStateIsNamedAndCanBeChanged) {
  ASSERT_TRUE(Pin(1).ok());
  std::ofstream(options_.model_store() + "/m/SERVING.textproto")
      << "change: 9 pinned_version: 7";
  grpc::ClientContext reload;
  v1::ReloadModelsResponse reloaded;
  ASSERT_TRUE(models_->ReloadModels(&reload, {}, &reloaded).ok());
  v1::DescribeModelResponse response = Describe();
  EXPECT_EQ(response.status().serving().change(), 1u);
  EXPECT_THAT(response.status().serving_error(),
              HasSubstr("pinned_version 7: "));
  EXPECT_EQ(response.stored_change(), 9u);
  EXPECT_TRUE(Change([](auto* request) {
                request->set_expected_change(9);
                request->mutable_pin()->set_version(2);
              }).ok());
  response = Describe();
  EXPECT_EQ(response.status().serving_error(), "");
  EXPECT_EQ(response.status().version(), 2u);
}

TEST_F(ModelsTest, ErrorsKeepTheirCodesAndChangeNothing) {
  const auto expect = [&](const grpc::Status& status, StatusCode code,
                          const std::string& words) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(words));
  };
  expect(Pin(3), StatusCode::FAILED_PRECONDITION, "pin.version = 3");
  expect(Change([](auto*) {}), StatusCode::INVALID_ARGUMENT, "change: must");
  expect(Change([](auto* request) {
           request->mutable_unpin();
           request->clear_reason();
         }),
         StatusCode::INVALID_ARGUMENT, "reason has 0 bytes");
  expect(Change([](auto* request) {
           request->mutable_unpin();
           request->set_expected_change(4);
         }),
         StatusCode::ABORTED, "expected_change = 4");
  expect(Change([](auto* request) {
           request->mutable_unpin();
           request->set_model("nobody");
         }),
         StatusCode::NOT_FOUND, "model = \"nobody\"");
  expect(Change([](auto* request) {
           request->mutable_set_mode()->set_mode(model::v1::OFF);
           request->mutable_set_mode()->set_explore_parts(3);
         }),
         StatusCode::INVALID_ARGUMENT, "explore_parts = 3");
  EXPECT_EQ(Describe().stored_change(), 0u);
}

// One file is missing: the version cannot be pinned, and rollback passes it by.
TEST_F(ModelsTest, RollbacksPassVersionsThatDoNotLoad) {
  const std::string store = options_.model_store();
  for (int i = 3; i <= 4; ++i) Publish(store, MakeRankModel("m", {2, 1}));
  ASSERT_TRUE(Pin(4).ok());
  std::filesystem::remove(store + "/m/3/model.pb");
  const grpc::Status status = Pin(3);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("pinned_version 3: missing_file: "));
  v1::ChangeServingResponse response;
  ASSERT_TRUE(
      Change([](auto* request) { request->mutable_rollback(); }, &response)
          .ok());
  EXPECT_EQ(response.version(), 2u);
  EXPECT_THAT(response.serving().rolled_back_versions(), ElementsAre(4));
}

// While a change waits, here for another program's lock, as it would for the
// load of a large version, everything else is answered, large requests too.
TEST_F(ModelsTest, NothingWaitsForAChange) {
  ASSERT_TRUE(Pin(1).ok());
  const int fd = open((options_.model_store() + "/m/.serving/lock").c_str(),
                      O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  std::atomic<bool> changed{false};
  std::thread changer([&] {
    EXPECT_TRUE(Pin(2).ok());
    changed = true;
  });
  HealthStatus health = HealthCheckResponse::UNKNOWN;
  v1::RankResponse rank;
  v1::ListModelsResponse list;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Health(channel_, "", &health).ok());
    ASSERT_TRUE(Rank(GoodRank(), &rank).ok());
    EXPECT_EQ(rank.result().model().version(), 1u);
    grpc::ClientContext context;
    EXPECT_TRUE(models_->ListModels(&context, {}, &list).ok());
  }
  // More than a MiB goes to the pool of long calls.
  v1::RankRequest large;
  SetDense(2, std::vector<float>(2 * 200'000, 0.5F), large.mutable_context());
  EXPECT_EQ(Rank(large, &rank).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_FALSE(changed);
  ASSERT_EQ(flock(fd, LOCK_UN), 0);
  changer.join();
  close(fd);
  EXPECT_TRUE(changed);
}

// The thread of a queue that serves nobody must not keep a version loaded.
TEST_F(ModelsTest, IdleThreadsKeepNoVersion) {
  server_.reset();
  options_.set_threads(3);
  options_.set_poll_seconds(0.01);
  StartServer();
  models_ = v1::Models::NewStub(channel_);
  v1::RankResponse rank;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Rank(GoodRank(), &rank).ok());
  ASSERT_TRUE(Pin(1).ok());
  const auto is_free = [&] {
    return absl::StrContains(server_->metrics().Text(),
                             "sortition_model_retired_bytes 0\n");
  };
  const absl::Time deadline = absl::Now() + absl::Seconds(Patience(30));
  while (!is_free() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_TRUE(is_free());
}

TEST_F(ModelsTest, ChangesAreLoggedWithTheirCallers) {
  CaptureLog();
  ASSERT_TRUE(Pin(1).ok());
  EXPECT_FALSE(Pin(9).ok());
  const std::string log = CapturedLog();
  EXPECT_THAT(log, AllOf(HasSubstr("\"message\":\"audit\",\"method\":"
                                   "\"ChangeServing\",\"caller\":\"ipv4:"),
                         HasSubstr("\"change\":\"pin { version: 1 }\""),
                         HasSubstr("\"code\":\"OK\""),
                         HasSubstr("\"change\":\"pin { version: 9 }\""),
                         HasSubstr("\"code\":\"FAILED_PRECONDITION\""),
                         HasSubstr("what serves was changed"),
                         HasSubstr("\"reason\":\"because\"")));
}

// Streams decide by the same rules.
TEST_F(ModelsTest, StreamsFollowChangesAndNames) {
  ASSERT_TRUE(Change([](auto* request) {
                request->mutable_set_label()->set_name("old");
                request->mutable_set_label()->set_version(1);
              }).ok());
  grpc::ClientContext context;
  const auto stream = ranking_->RankStream(&context);
  const auto ask = [&](const std::string& label) {
    v1::RankStreamRequest request;
    *request.mutable_rank() = GoodRank();
    request.mutable_rank()->mutable_context()->set_label(label);
    v1::RankStreamResponse response;
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&response));
    return response;
  };
  EXPECT_EQ(ask("").rank().result().model().version(), 2u);
  EXPECT_EQ(ask("old").rank().result().model().version(), 1u);
  EXPECT_EQ(ask("none").error().code(), StatusCode::FAILED_PRECONDITION);
  ASSERT_TRUE(Pin(1).ok());
  EXPECT_EQ(ask("").rank().result().model().version(), 1u);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace sortition
