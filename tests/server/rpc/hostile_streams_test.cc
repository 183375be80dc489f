// Streams take the way of all requests: what they ask for is admitted, waits
// its turn, and is given up where nobody hears the answer.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_http2.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kRankStream[] = "/sortition.v1.Ranking/RankStream";

class HostileStreamsTest : public GrpcServerTest {
 protected:
  using Stream =
      grpc::ClientReaderWriter<v1::RankStreamRequest, v1::RankStreamResponse>;

  HostileStreamsTest() {
    options_.mutable_spool()->set_segment_bytes(1 << 22);
    options_.mutable_admission()->set_max_long_wait_seconds(3600);
  }
  // Of this many candidates, of which one is chosen.
  static v1::RankStreamRequest RankItem(size_t candidates) {
    v1::RankStreamRequest item;
    SetDense(2, std::vector<float>(2 * candidates, 1),
             item.mutable_rank()->mutable_context());
    item.mutable_rank()->set_top_k(1);
    return item;
  }
  double Metric(const std::string& name) {
    return MetricSum(server_->metrics().Text(), name);
  }
  double NumAnswered(const std::string& code) {
    return Metric(absl::StrCat("sortition_requests_total{code=\"", code,
                               "\",method=\"RankStream\"}"));
  }
  double NumRefused(const std::string& reason) {
    return Metric(absl::StrCat("sortition_requests_refused_total{reason=\"",
                               reason, "\"}"));
  }
  // Sends requests over some streams at once until one of them is refused for
  // `reason`. The refusal is an answer in its place, all others are answered,
  // and only they are logged.
  void ExpectRefusal(const std::string& reason, const std::string& message) {
    StartServer();
    std::atomic<size_t> answered = 0;
    while (NumRefused(reason) == 0) {
      std::vector<std::thread> clients;
      for (int i = 0; i < 10; ++i) {
        clients.emplace_back([&] {
          grpc::ClientContext context;
          const auto stream = ranking_->RankStream(&context);
          for (int j = 0; j < 50; ++j) stream->Write(RankItem(50));
          stream->WritesDone();
          int count = 0;
          v1::RankStreamResponse answer;
          for (; stream->Read(&answer); ++count) {
            if (answer.has_rank()) {
              ++answered;
              continue;
            }
            EXPECT_EQ(answer.error().code(), StatusCode::RESOURCE_EXHAUSTED);
            EXPECT_THAT(answer.error().message(),
                        AllOf(HasSubstr(message), HasSubstr("try again in ")));
          }
          EXPECT_EQ(count, 50);
          EXPECT_TRUE(stream->Finish().ok());
        });
      }
      for (std::thread& client : clients) client.join();
    }
    EXPECT_EQ(NumAnswered("RESOURCE_EXHAUSTED"),
              Metric("sortition_requests_refused_total"));
    EXPECT_OK(server_->Drain());
    EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(answered.load()));
  }
};

TEST_F(HostileStreamsTest, RequestsBeyondTheLimitAreRefused) {
  options_.mutable_admission()->set_max_waiting(1);
  ExpectRefusal("waiting", "admission.max_waiting = 1 ");
}

TEST_F(HostileStreamsTest, RequestsThatWouldWaitTooLongAreRefused) {
  options_.mutable_admission()->set_max_wait_seconds(0.0001);
  ExpectRefusal("wait", "admission.max_wait_seconds = 0.0001");
}

TEST_F(HostileStreamsTest, RequestsOfTooManyBytesAreRefused) {
  options_.mutable_admission()->set_work_bytes(1024);
  ExpectRefusal("bytes", "admission.work_bytes = 1024");
}

// 15 streams that have asked and gone on, and one that asks: as many calls as
// there may be.
TEST_F(HostileStreamsTest, StreamsAreCalls) {
  constexpr int kStreams = 15;
  options_.mutable_admission()->set_max_calls(kStreams + 1);
  StartServer();
  grpc::ClientContext contexts[kStreams];
  std::vector<std::unique_ptr<Stream>> streams;
  v1::RankStreamResponse answer;
  for (grpc::ClientContext& context : contexts) {
    streams.push_back(ranking_->RankStream(&context));
    ASSERT_TRUE(streams.back()->Write(RankItem(3)));
    ASSERT_TRUE(streams.back()->Read(&answer));
    ASSERT_TRUE(answer.has_rank()) << answer.DebugString();
  }
  {
    grpc::ClientContext context;
    const auto stream = ranking_->RankStream(&context);
    stream->Write(RankItem(3));
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_THAT(answer.error().message(), HasSubstr("admission.max_calls = 16"))
        << "the stream itself is the last call";
    context.TryCancel();
    stream->Finish();
  }
  // Health is nobody's call but its own.
  HealthStatus health;
  EXPECT_TRUE(Health(channel_, "", &health).ok());
  for (int i = 0; i < 2; ++i) {
    streams[i]->WritesDone();
    EXPECT_FALSE(streams[i]->Read(&answer));
    EXPECT_TRUE(streams[i]->Finish().ok());
  }
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    v1::RankResponse response;
    return Rank(GoodRank(), &response).ok();
  }));
  for (int i = 2; i < kStreams; ++i) {
    contexts[i].TryCancel();
    streams[i]->Finish();
  }
}

// Counted, unlike the streams that are served.
TEST_F(HostileStreamsTest, StreamsThatAreRefusedAreCounted) {
  options_.mutable_admission()->set_max_calls(16);
  StartServer();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  v1::RankStreamResponse answer;
  for (int i = 0; i < 16; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(ranking_->RankStream(contexts.back().get()));
    ASSERT_TRUE(streams.back()->Write(v1::RankStreamRequest()));
    ASSERT_TRUE(streams.back()->Read(&answer));
  }
  const double before = NumAnswered("RESOURCE_EXHAUSTED");
  grpc::ClientContext context;
  const auto refused = ranking_->RankStream(&context);
  EXPECT_FALSE(refused->Read(&answer));
  const grpc::Status status = refused->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("admission.max_calls = 16"));
  EXPECT_EQ(NumAnswered("RESOURCE_EXHAUSTED"), before + 1);
  for (int i = 0; i < 16; ++i) {
    contexts[i]->TryCancel();
    streams[i]->Finish();
  }
}

// Twenty streams have 50 requests in their connection, of some tenths of a
// millisecond each. A health check is answered before many of them: between two
// looks at the connections there are eight. Of some checks one at least is not
// held up by the machine.
TEST_F(HostileStreamsTest, BusyStreamsHoldUpNobody) {
  constexpr int kStreams = 20;
  constexpr int kRequests = 200;
  auto choose = MakeModel("choose", {1, 2});
  choose.mutable_policy()->mutable_independent_subset()->set_k(200);
  Publish(options_.model_store(), choose);
  StartServer();
  v1::RankStreamRequest label;
  SetDense(2, std::vector<float>(800, 1),
           label.mutable_label()->mutable_context());
  label.mutable_label()->mutable_context()->set_model("choose");
  std::vector<std::thread> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.emplace_back([&] {
      grpc::ClientContext context;
      const auto stream = ranking_->RankStream(&context);
      std::thread reader([&] {
        v1::RankStreamResponse answer;
        while (stream->Read(&answer)) EXPECT_TRUE(answer.has_label());
      });
      for (int j = 0; j < kRequests; ++j) stream->Write(label);
      stream->WritesDone();
      reader.join();
      EXPECT_TRUE(stream->Finish().ok());
    });
  }
  ASSERT_TRUE(PollUntil(Patience(60), [&] { return NumAnswered("OK") > 100; }));
  // Not behind what the streams send.
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto connection =
      grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->rpc_port()),
                                grpc::InsecureChannelCredentials(), own);
  double fewest = HUGE_VAL;
  while (NumAnswered("OK") < 0.9 * kStreams * kRequests) {
    const double before = NumAnswered("OK");
    HealthStatus health;
    EXPECT_TRUE(Health(connection, "", &health).ok());
    fewest = std::min(fewest, NumAnswered("OK") - before);
  }
  EXPECT_LT(fewest, 40);
  for (std::thread& client : clients) client.join();
}

// Answers of 26 bytes for each of 1000 candidates, to a client that takes none:
// gRPC keeps 64 KiB of a stream, and the rest waits.
TEST_F(HostileStreamsTest, StreamsWhoseAnswersAreNotTakenAreEnded) {
  options_.mutable_admission()->set_answer_seconds(0.01);
  StartServer();
  RawConnection client(server_->rpc_port());
  v1::RankStreamRequest item = RankItem(1000);
  item.mutable_rank()->clear_top_k();
  item.mutable_rank()->mutable_context()->set_return_scores(true);
  item.mutable_rank()->mutable_context()->set_return_probabilities(true);
  std::string bytes = Preface(0) + BeginCall(1, kRankStream);
  for (int i = 0; i < 7; ++i) bytes += Message(1, 0, item.SerializeAsString());
  ASSERT_TRUE(client.Send(bytes));
  EXPECT_TRUE(PollUntil(Patience(60), [&] {
    return Metric("sortition_answers_dropped_total") >= 1;
  }));
  // The stream is gone, with its place among the calls.
  EXPECT_OK(server_->Drain());
}

// The only thread of long calls is busy. Behind it wait large requests of
// streams that are then cancelled.
TEST_F(HostileStreamsTest, CancelledStreamsAreNeitherDecidedNorLogged) {
  constexpr int kBusy = 20;
  constexpr int kStreams = 10;
  options_.mutable_limits()->set_max_candidates(300'000);
  StartServer();
  std::vector<std::thread> busy;
  for (int i = 0; i < kBusy; ++i) {
    busy.emplace_back([this] {
      v1::AggregateRequest request;
      std::vector<float> values(202);
      for (size_t e = 0; e < values.size(); ++e) {
        values[e] = static_cast<float>((e * 37) % 101);
      }
      SetDense(2, values, request.mutable_context());
      request.set_bootstrap_samples(100'000);
      grpc::ClientContext context;
      v1::AggregateResponse response;
      EXPECT_TRUE(ranking_->Aggregate(&context, request, &response).ok());
    });
  }
  const auto waiting = [&] {
    return Metric("sortition_calls_waiting{class=\"long\"}");
  };
  ASSERT_TRUE(PollUntil(Patience(60), [&] { return waiting() >= kBusy / 2; }));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(ranking_->RankStream(contexts.back().get()));
    ASSERT_TRUE(streams.back()->Write(RankItem(50'000)));
  }
  ASSERT_TRUE(PollUntil(Patience(60), [&] {
    return waiting() > kBusy || NumAnswered("OK") > 0;
  }));
  for (int i = 0; i < kStreams; ++i) {
    contexts[i]->TryCancel();
    EXPECT_EQ(streams[i]->Finish().error_code(), StatusCode::CANCELLED);
  }
  for (std::thread& thread : busy) thread.join();
  EXPECT_TRUE(PollUntil(Patience(60), [&] { return waiting() == 0; }));
  EXPECT_OK(server_->Drain());
  EXPECT_GE(NumAnswered("CANCELLED"), 1);
  const auto decided = static_cast<size_t>(kBusy + NumAnswered("OK"));
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(decided));
}

}  // namespace
}  // namespace sortition
