// Calls that take long do not hold up those that do not.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"

namespace sortition {
namespace {

using grpc::health::v1::HealthCheckResponse;

class LongCallTest : public GrpcServerTest {
 protected:
  // None is refused, however slow the machine is.
  LongCallTest() {
    options_.mutable_admission()->set_max_long_wait_seconds(3600);
  }

  // Takes some tens of milliseconds.
  static v1::AggregateRequest LongAggregate() {
    v1::AggregateRequest request;
    std::vector<float> values(202);
    for (size_t e = 0; e < values.size(); ++e) {
      values[e] = static_cast<float>((e * 37) % 101);
    }
    SetDense(2, values, request.mutable_context());
    request.set_bootstrap_samples(100'000);
    return request;
  }

  // Sends `count` long calls at once; each notes that it was answered, unless
  // the server drained.
  void SendLongCalls(int count) {
    for (int i = 0; i < count; ++i) {
      senders_.emplace_back([this] {
        grpc::ClientContext context;
        v1::AggregateResponse response;
        const grpc::Status status =
            ranking_->Aggregate(&context, LongAggregate(), &response);
        if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return;
        EXPECT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(response.pairs_size(), 100);
        ++answered_;
      });
    }
  }

  void Join() {
    for (std::thread& sender : senders_) sender.join();
  }

  std::atomic<int> answered_ = 0;
  std::vector<std::thread> senders_;
};

// All of them arrive before the first is answered, or soon after. Behind them
// in one queue, the others would be answered last.
TEST_F(LongCallTest, HealthAndRankDoNotWaitForThem) {
  constexpr int kCalls = 30;
  StartServer();
  SendLongCalls(kCalls);
  while (answered_ == 0) std::this_thread::yield();
  HealthStatus health = HealthCheckResponse::UNKNOWN;
  EXPECT_TRUE(Health(channel_, "", &health).ok());
  EXPECT_EQ(health, HealthCheckResponse::SERVING);
  v1::RankResponse response;
  EXPECT_TRUE(Rank(GoodRank(), &response).ok());
  EXPECT_LT(answered_, kCalls / 2);
  Join();
  EXPECT_EQ(answered_, kCalls);
}

// A megabyte or more, with more candidates than are permitted.
TEST_F(LongCallTest, LargeRequestsAreDecidedAndLogged) {
  options_.mutable_spool()->set_segment_bytes(1 << 22);
  StartServer();
  v1::RankRequest request;
  SetDense(2, std::vector<float>(400'000, 1), request.mutable_context());
  request.set_top_k(1);
  v1::RankResponse response;
  EXPECT_EQ(Rank(request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  SetDense(2, std::vector<float>(200'000, 1), request.mutable_context());
  request.mutable_context()->set_decision_id("small");
  EXPECT_TRUE(Rank(request, &response).ok());
  SetDense(4, std::vector<float>(400'000, 1), request.mutable_context());
  request.mutable_context()->set_model("wide");
  EXPECT_EQ(Rank(request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  Publish(options_.model_store(), MakeRankModel("wide", {1, 2, 3, 4}));
  request.mutable_context()->set_decision_id("large");
  while (!Rank(request, &response).ok()) std::this_thread::yield();
  EXPECT_EQ(response.order_size(), 1);
  EXPECT_OK(server_->Drain());
  const auto records = ReadSpool(options_.spool().dir());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[1].decision().decision_id(), "large");
}

TEST_F(LongCallTest, ADrainAnswersWhatIsLogged) {
  options_.set_drain_seconds(600);
  StartServer();
  SendLongCalls(5);
  while (answered_ == 0) std::this_thread::yield();
  EXPECT_OK(server_->Drain());
  Join();
  EXPECT_EQ(ReadSpool(options_.spool().dir()).size(), answered_);
}

// Small requests that take milliseconds: a set of a given size.
TEST_F(LongCallTest, HealthDoesNotWaitForLargeSubsets) {
  constexpr int kCalls = 60;
  auto choose = MakeModel("choose", {1, 2});
  choose.mutable_policy()->mutable_independent_subset()->set_k(500);
  Publish(options_.model_store(), choose);
  StartServer();
  v1::LabelRequest request;
  SetDense(2, std::vector<float>(2000, 1), request.mutable_context());
  request.mutable_context()->set_model("choose");
  for (int i = 0; i < kCalls; ++i) {
    senders_.emplace_back([this, request] {
      grpc::ClientContext context;
      v1::LabelResponse response;
      const grpc::Status status = ranking_->Label(&context, request, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.chosen_size(), 500);
      ++answered_;
    });
  }
  while (answered_ == 0) std::this_thread::yield();
  HealthStatus health = HealthCheckResponse::UNKNOWN;
  EXPECT_TRUE(Health(channel_, "", &health).ok());
  EXPECT_LT(answered_, kCalls);
  Join();
  EXPECT_EQ(answered_, kCalls);
  EXPECT_OK(server_->Drain());
  EXPECT_EQ(ReadSpool(options_.spool().dir()).size(), kCalls);
}

}  // namespace
}  // namespace sortition
