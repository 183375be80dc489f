// Aggregate with numbers at the ends of their ranges, and with more work than
// there is time for.
#include <grpcpp/client_context.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class LongAggregateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(deployment_.StartServer());
    stub_ = v1::Ranking::NewStub(deployment_.NewChannel());
  }

  grpc::Status Aggregate(const v1::AggregateRequest& request,
                         v1::AggregateResponse* response,
                         double seconds = kPatienceSeconds) {
    grpc::ClientContext context;
    context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(1e6 * seconds)));
    return stub_->Aggregate(&context, request, response);
  }

  // As many samples as limits.max_aggregate_work lets two sources have.
  static v1::AggregateRequest LongRequest() {
    v1::AggregateRequest request;
    request.mutable_context()->mutable_candidates()->set_num_features(2);
    for (int i = 0; i < 202; ++i) {
      request.mutable_context()
          ->mutable_candidates()
          ->mutable_dense()
          ->add_values(static_cast<float>((i * 37) % 101));
    }
    request.set_bootstrap_samples(100'000);
    return request;
  }

  Deployment deployment_;
  std::unique_ptr<v1::Ranking::Stub> stub_;
};

// All of 60 answers had a NaN, and an order that was sorted by it.
TEST_F(LongAggregateTest, HugeWeightsOfHugeScoresGiveNumbers) {
  v1::AggregateRequest request;
  request.mutable_context()->mutable_candidates()->set_num_features(6);
  for (int i = 0; i < 18; ++i) {
    request.mutable_context()
        ->mutable_candidates()
        ->mutable_dense()
        ->add_values(i < 12 ? (i % 2 == 0 ? 1e10f : -1e10f) : 0.0f);
  }
  request.mutable_aggregation()->set_scale(v1::Aggregation::NONE);
  for (int s = 0; s < 6; ++s) {
    request.mutable_aggregation()->add_weights(1.6e299);
  }
  request.set_bootstrap_samples(2000);
  for (int i = 0; i < 60; ++i) {
    v1::AggregateResponse response;
    const grpc::Status status = Aggregate(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_THAT(response.pairs(), SizeIs(2));
    EXPECT_TRUE(std::isfinite(response.total_variation()));
    for (const double divergence : response.divergences()) {
      EXPECT_TRUE(std::isfinite(divergence));
    }
    for (const v1::PairConfidence& pair : response.pairs()) {
      EXPECT_TRUE(std::isfinite(pair.difference()));
      EXPECT_TRUE(std::isfinite(pair.lower()) && std::isfinite(pair.upper()));
      EXPECT_TRUE(std::isfinite(pair.support()));
    }
  }
}

// One thread of a queue, and one for long calls, which is busy all the time:
// health is asked many times while one aggregation is under way.
TEST_F(LongAggregateTest, HealthIsAnsweredMeanwhile) {
  const auto health =
      grpc::health::v1::Health::NewStub(deployment_.NewChannel());
  std::atomic<int> answered{0};
  std::atomic<bool> stop{false};
  std::jthread caller([&] {
    while (!stop) {
      v1::AggregateResponse response;
      const grpc::Status status = Aggregate(LongRequest(), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      ++answered;
    }
  });
  int most = 0;
  double worst = 0;
  // Behind the calls there would be one check, or two, during each of them.
  constexpr int kMinChecks = 6;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const int before = answered;
    int checks = 0;
    while (answered == before) {
      const auto start = std::chrono::steady_clock::now();
      grpc::ClientContext context;
      grpc::health::v1::HealthCheckResponse response;
      EXPECT_TRUE(health->Check(&context, {}, &response).ok());
      worst = std::max(worst, std::chrono::duration<double>(
                                  std::chrono::steady_clock::now() - start)
                                  .count());
      ++checks;
    }
    most = std::max(most, checks);
    return answered >= 5 && most >= kMinChecks;
  }));
  stop = true;
  caller.join();
  std::cout << most
            << " health checks during one aggregation, the slowest took "
            << 1000 * worst << " ms\n";
}

// What there is no time for is left out; the answer comes, and says so.
TEST_F(LongAggregateTest, TheAnswerComesBeforeTheDeadline) {
  v1::AggregateResponse response;
  grpc::Status status;
  // A machine that is busy may take all the time away.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    status = Aggregate(LongRequest(), &response, Patience(0.05));
    return status.ok();
  })) << status.error_message();
  EXPECT_THAT(response.result().degraded(),
              HasSubstr("bootstrap_samples = 100000 cut to "));
  EXPECT_THAT(response.order(), SizeIs(101));
  std::cout << "the server took "
            << PeakBytes(deployment_.server().pid()) / (1 << 20) << " MiB\n";
  EXPECT_LT(PeakBytes(deployment_.server().pid()), uint64_t{400} << 20);
}

}  // namespace
}  // namespace sortition
