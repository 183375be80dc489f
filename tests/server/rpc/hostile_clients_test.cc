// Clients that do not take their answers, do not end their requests, or do not
// speak HTTP/2 keep nobody else from being served.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_http2.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr char kRank[] = "/sortition.v1.Ranking/Rank";

class HostileClientsTest : public GrpcServerTest {
 protected:
  HostileClientsTest() {
    options_.mutable_admission()->set_max_wait_seconds(3600);
    options_.mutable_admission()->set_max_long_wait_seconds(3600);
  }

  // Asks as an honest client does.
  grpc::Status HonestRank() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(int(Patience(60))));
    v1::RankResponse response;
    return ranking_->Rank(&context, GoodRank(), &response);
  }
  double Metric(const std::string& name) {
    return MetricSum(server_->metrics().Text(), name);
  }
  double NumAnswered(const std::string& method, const std::string& code) {
    return Metric(absl::StrCat("sortition_requests_total{code=\"", code,
                               "\",method=\"", method, "\"}"));
  }
  // Sends calls whose answers cannot be sent, from one connection.
  void SendWithoutWindow(RawConnection* connection, int calls) {
    std::string bytes = Preface(0);
    for (int i = 0; i < calls; ++i) {
      bytes += Call(static_cast<uint32_t>(2 * i + 1), kRank,
                    GoodRank().SerializeAsString());
    }
    ASSERT_TRUE(connection->Send(bytes));
  }
};

// More than there were slots.
TEST_F(HostileClientsTest, AnswersWithoutAWindowHoldUpNobody) {
  StartServer();
  RawConnection client(server_->rpc_port());
  SendWithoutWindow(&client, 200);
  ASSERT_TRUE(PollUntil(Patience(60),
                        [&] { return NumAnswered("Rank", "OK") == 200; }));
  const grpc::Status status = HonestRank();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(HostileClientsTest, AnswersThatAreNotTakenAreDropped) {
  options_.mutable_admission()->set_answer_seconds(0.01);
  StartServer();
  RawConnection client(server_->rpc_port());
  SendWithoutWindow(&client, 50);
  // An answer of an honest client may be late, too, on a slow machine.
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    HonestRank().error_code();
    return Metric("sortition_answers_dropped_total") >= 50;
  }));
}

// Of 16 calls the oldest eight whose answers were not taken make room.
TEST_F(HostileClientsTest, AnswersThatAreNotTakenAreBounded) {
  options_.mutable_admission()->set_max_calls(16);
  StartServer();
  RawConnection client(server_->rpc_port());
  SendWithoutWindow(&client, 100);
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    return NumAnswered("Rank", "OK") +
               NumAnswered("Rank", "RESOURCE_EXHAUSTED") ==
           100;
  }));
  EXPECT_TRUE(PollUntil(Patience(60), [&] { return HonestRank().ok(); }));
  EXPECT_GE(Metric("sortition_answers_dropped_total"), 1);
}

// A tenth of the time for draining is enough to take an answer.
TEST_F(HostileClientsTest, AnswersThatAreNotTakenDoNotHoldUpADrain) {
  options_.set_drain_seconds(Patience(100));
  StartServer();
  RawConnection client(server_->rpc_port());
  SendWithoutWindow(&client, 50);
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return NumAnswered("Rank", "OK") == 50; }));
  const absl::Time start = absl::Now();
  EXPECT_OK(server_->Drain());
  EXPECT_LT(absl::Now() - start, absl::Seconds(Patience(50)));
}

// Nobody else calls meanwhile.
TEST_F(HostileClientsTest, AnswersThatAreNotTakenAreDroppedInSilence) {
  options_.mutable_admission()->set_answer_seconds(0.01);
  StartServer();
  RawConnection client(server_->rpc_port());
  SendWithoutWindow(&client, 50);
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    return Metric("sortition_answers_dropped_total") >= 50;
  }));
}

// Health checks are always answered, and therefore small.
TEST_F(HostileClientsTest, LargeHealthChecksAreRefused) {
  StartServer();
  HealthStatus health;
  const grpc::Status status =
      Health(channel_, std::string(2 << 20, 'a'), &health);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("must have at most 256"));
}

// Twelve names of 60 MB once held 1.46 GB, and anyone may watch.
TEST_F(HostileClientsTest, WatchesWithLongNamesAreRefused) {
  StartServer();
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  const auto watch_ends = [&](size_t size) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(std::string(size, 'a'));
    grpc::health::v1::HealthCheckResponse response;
    const auto watch = stub->Watch(&context, request);
    if (watch->Read(&response)) context.TryCancel();
    return watch->Finish();
  };
  EXPECT_EQ(watch_ends(64).error_code(), grpc::StatusCode::CANCELLED);
  for (const size_t size : {65, 1 << 10, 10 << 20}) {
    const grpc::Status status = watch_ends(size);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("must have at most "));
  }
}

// The 65th watch of a connection is refused. It can be had once another one has
// ended.
TEST_F(HostileClientsTest, WatchesOfAConnectionAreBounded) {
  StartServer();
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<grpc::health::v1::HealthCheckResponse>>
        reader;
  };
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckResponse response;
  std::vector<std::unique_ptr<Watch>> watches;
  const auto begin = [&] {
    watches.push_back(std::make_unique<Watch>());
    watches.back()->reader = stub->Watch(&watches.back()->context, {});
    return watches.back()->reader->Read(&response);
  };
  // Returns the status of the last watch, which is cancelled if it is there.
  const auto end_last = [&](bool is_there) {
    if (is_there) watches.back()->context.TryCancel();
    const grpc::Status status = watches.back()->reader->Finish();
    watches.pop_back();
    return status;
  };
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(begin()) << i;
  ASSERT_FALSE(begin());
  const grpc::Status status = end_last(false);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("64 health watches"));
  end_last(true);
  // The server may take a moment to notice.
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    const bool is_watched = begin();
    if (!is_watched) end_last(false);
    return is_watched;
  }));
  while (!watches.empty()) end_last(true);
}

// One byte at a time, and after each of them others are served.
TEST_F(HostileClientsTest, RequestsInSmallPiecesHoldUpNobody) {
  StartServer();
  RawConnection client(server_->rpc_port());
  const std::string bytes =
      Preface(65535) + Call(1, kRank, GoodRank().SerializeAsString());
  for (const char byte : bytes) {
    ASSERT_TRUE(HonestRank().ok());
    ASSERT_TRUE(client.Send({&byte, 1}));
  }
  const auto sent = static_cast<double>(bytes.size());
  EXPECT_TRUE(PollUntil(Patience(60),
                        [&] { return NumAnswered("Rank", "OK") == sent + 1; }));
}

// Requests without an end, more than there are slots, from many connections.
TEST_F(HostileClientsTest, RequestsWithoutAnEndHoldUpNobody) {
  StartServer();
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < 20; ++i) {
    std::string bytes = Preface(65535);
    for (uint32_t stream = 1; stream < 40; stream += 2) {
      const std::string call =
          Call(stream, kRank, GoodRank().SerializeAsString());
      // Without its last frame, the data.
      bytes += call.substr(0, call.size() - GoodRank().ByteSizeLong() - 14);
    }
    clients.push_back(std::make_unique<RawConnection>(server_->rpc_port()));
    ASSERT_TRUE(clients.back()->Send(bytes));
    EXPECT_TRUE(HonestRank().ok());
  }
  // An answer is counted once it was sent.
  EXPECT_TRUE(
      PollUntil(Patience(60), [&] { return NumAnswered("Rank", "OK") == 20; }));
}

// The thread of long calls is busy with one; the others wait and are cancelled.
TEST_F(HostileClientsTest, CancelledCallsAreNeitherDecidedNorLogged) {
  constexpr int kCalls = 20;
  StartServer();
  v1::AggregateRequest request;
  std::vector<float> values(202);
  for (size_t e = 0; e < values.size(); ++e) {
    values[e] = static_cast<float>((e * 37) % 101);
  }
  SetDense(2, values, request.mutable_context());
  request.set_bootstrap_samples(100'000);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::thread> senders;
  for (int i = 0; i < kCalls; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    senders.emplace_back([this, &request, context = contexts.back().get()] {
      v1::AggregateResponse response;
      ranking_->Aggregate(context, request, &response).error_code();
    });
  }
  ASSERT_TRUE(PollUntil(Patience(60), [&] {
    return Metric("sortition_calls_waiting{class=\"long\"}") > kCalls / 2;
  }));
  for (const auto& context : contexts) context->TryCancel();
  for (std::thread& sender : senders) sender.join();
  ASSERT_TRUE(PollUntil(Patience(60), [&] {
    return Metric("sortition_calls_waiting{class=\"long\"}") == 0;
  }));
  EXPECT_OK(server_->Drain());
  const double decided = NumAnswered("Aggregate", "OK");
  EXPECT_GE(NumAnswered("Aggregate", "CANCELLED"), 1);
  EXPECT_LT(decided, kCalls);
  EXPECT_THAT(ReadSpool(options_.spool().dir()),
              SizeIs(static_cast<size_t>(decided)));
}

}  // namespace
}  // namespace sortition
