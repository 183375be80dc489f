// Durability POWER over RPC: answers wait for the disk, threads do not.
#include <grpcpp/grpcpp.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::SizeIs;

class PowerTest : public GrpcServerTest {
 protected:
  // A call that is under way.
  struct Call {
    grpc::ClientContext context;
    v1::RankResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RankResponse>> reader;
  };

  PowerTest() {
    options_.mutable_spool()->set_durability(SpoolOptions::POWER);
    // Nothing is synced but for those that wait.
    options_.mutable_spool()->set_sync_interval_seconds(3600);
  }
  ~PowerTest() override { queue_.Shutdown(); }

  void StartRanks(int n) {
    for (int i = 0; i < n; ++i) {
      // Each with other features, so that it has other propensities.
      v1::RankRequest request;
      const float feature = static_cast<float>(calls_.size()) / 512;
      SetDense(2, {1, 0, 0, feature, 1, 1}, request.mutable_context());
      request.mutable_context()->set_decision_id(absl::StrCat(calls_.size()));
      calls_.push_back(std::make_unique<Call>());
      Call& call = *calls_.back();
      call.reader = ranking_->AsyncRank(&call.context, request, &queue_);
      call.reader->Finish(&call.response, &call.status, &call);
    }
  }
  // Returns the codes of all calls since the last time, once they have ended.
  std::vector<StatusCode> FinishRanks() {
    std::vector<StatusCode> codes;
    void* tag = nullptr;
    bool ok = false;
    for (; num_finished_ < calls_.size() && queue_.Next(&tag, &ok);
         ++num_finished_) {
      codes.push_back(static_cast<Call*>(tag)->status.error_code());
    }
    return codes;
  }
  bool PollWaiting(int n) {
    return PollUntil(Patience(60), [&] {
      const std::string text = server_->metrics().Text();
      return text.find(absl::StrCat("\nsortition_spool_waiting ", n, "\n")) !=
             std::string::npos;
    });
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
  size_t num_finished_ = 0;
};

// The one thread of long calls decides them all while none is on the disk.
TEST_F(PowerTest, LargeCallsWaitTogether) {
  constexpr int kCalls = 10;
  options_.mutable_spool()->set_segment_bytes(1 << 23);
  StartServer();
  {
    const SyncStall stall;
    for (int i = 0; i < kCalls; ++i) {
      v1::RankRequest request;
      SetDense(2, std::vector<float>(60'000, 1), request.mutable_context());
      request.set_top_k(1);
      calls_.push_back(std::make_unique<Call>());
      Call& call = *calls_.back();
      call.reader = ranking_->AsyncRank(&call.context, request, &queue_);
      call.reader->Finish(&call.response, &call.status, &call);
    }
    ASSERT_TRUE(PollWaiting(kCalls));
  }
  EXPECT_THAT(FinishRanks(), AllOf(SizeIs(kCalls), Each(StatusCode::OK)));
  EXPECT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(kCalls));
}

TEST_F(PowerTest, OneThreadLetsManyCallsWait) {
  options_.set_threads(1);
  StartServer();
  {
    const SyncStall stall;
    StartRanks(64);
    ASSERT_TRUE(PollWaiting(64));
    // Other calls are answered meanwhile.
    HealthStatus health;
    EXPECT_TRUE(Health(channel_, "", &health).ok());
    v1::RankRequest bad = GoodRank();
    bad.mutable_context()->set_model("none");
    v1::RankResponse response;
    EXPECT_EQ(Rank(bad, &response).error_code(), StatusCode::NOT_FOUND);
    // A call whose deadline passes ends for the caller alone.
    grpc::ClientContext impatient;
    impatient.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::milliseconds(50));
    EXPECT_EQ(ranking_->Rank(&impatient, GoodRank(), &response).error_code(),
              StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_THAT(FinishRanks(), AllOf(SizeIs(64), Each(StatusCode::OK)));
  // Slots are used again.
  StartRanks(300);
  EXPECT_THAT(FinishRanks(), AllOf(SizeIs(300), Each(StatusCode::OK)));
  EXPECT_OK(server_->Drain());
  const auto records = ReadSpool(options_.spool().dir());
  // And perhaps the one whose caller did not wait.
  EXPECT_THAT(records, SizeIs(AnyOf(364, 365)));
  // Nothing is mixed up between calls that wait together.
  std::map<std::string, log::v1::Decision> logged;
  for (const auto& record : records) {
    logged[record.decision().decision_id()] = record.decision();
  }
  std::set<double> propensities;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const v1::RankResponse& response = calls_[i]->response;
    ASSERT_EQ(response.result().decision_id(), absl::StrCat(i));
    const log::v1::Decision& decision = logged[absl::StrCat(i)];
    EXPECT_THAT(response.order(), ElementsAreArray(decision.action()));
    EXPECT_EQ(response.result().log_propensity(), decision.log_propensity());
    propensities.insert(decision.log_propensity());
  }
  EXPECT_GT(propensities.size(), 100u);
}

TEST_F(PowerTest, WhatCannotBeSyncedIsNotAnswered) {
  StartServer();
  {
    const FileFault fault(
        {.call = FileCall::kSync, .path = ".seg", .error = EIO});
    v1::RankResponse response;
    const grpc::Status status = Rank(GoodRank(), &response);
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("perhaps logged, but not answered"),
                      HasSubstr("could not be synced")));
  }
}

TEST_F(PowerTest, ReportsWaitAlone) {
  options_.mutable_spool()->set_durability(SpoolOptions::PROCESS);
  options_.mutable_spool()->set_feedback_durability(SpoolOptions::POWER);
  StartServer();
  v1::ReportShownRequest shown;
  shown.set_decision_id("d");
  shown.set_not_shown(true);
  std::thread report;
  {
    const SyncStall stall;
    report = std::thread([&] {
      grpc::ClientContext context;
      v1::ReportShownResponse response;
      EXPECT_TRUE(ranking_->ReportShown(&context, shown, &response).ok());
    });
    EXPECT_TRUE(PollWaiting(1));
    v1::RankResponse response;
    EXPECT_TRUE(Rank(GoodRank(), &response).ok());
  }
  report.join();
}

TEST_F(PowerTest, DrainFinishesCallsThatWait) {
  options_.set_drain_seconds(3600);
  StartServer();
  std::thread drain;
  {
    const SyncStall stall;
    StartRanks(10);
    ASSERT_TRUE(PollWaiting(10));
    drain = std::thread([&] { EXPECT_OK(server_->Drain()); });
    // A wrong call waits for nothing.
    v1::RankRequest bad = GoodRank();
    bad.mutable_context()->set_model("none");
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      v1::RankResponse response;
      return Rank(bad, &response).error_code() == StatusCode::UNAVAILABLE;
    }));
  }
  EXPECT_THAT(FinishRanks(), AllOf(SizeIs(10), Each(StatusCode::OK)));
  drain.join();
}

TEST_F(PowerTest, DrainGivesUpCallsThatWaitTooLong) {
  options_.set_drain_seconds(0.01);
  StartServer();
  std::thread drain;
  {
    const SyncStall stall;
    StartRanks(10);
    ASSERT_TRUE(PollWaiting(10));
    drain = std::thread([&] { EXPECT_OK(server_->Drain()); });
    // The first is gRPC's answer, the second that of a closed connection.
    EXPECT_THAT(FinishRanks(),
                AllOf(SizeIs(10), Each(AnyOf(StatusCode::CANCELLED,
                                             StatusCode::UNAVAILABLE))));
  }
  drain.join();
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(10));
}

TEST_F(PowerTest, HealthSaysThatTheDiskStalls) {
  StartServer();
  HealthStatus health;
  {
    const SyncStall stall;
    StartRanks(1);
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      return Health(channel_, "", &health).ok() &&
             health == HealthCheckResponse::NOT_SERVING;
    }));
  }
  EXPECT_THAT(FinishRanks(), Each(StatusCode::OK));
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    return Health(channel_, "", &health).ok() &&
           health == HealthCheckResponse::SERVING;
  }));
}

}  // namespace
}  // namespace sortition
