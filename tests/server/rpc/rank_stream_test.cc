// RankStream: answers in order, errors of single requests, drain, POWER.
#include <grpcpp/generic/generic_stub.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
using testing::AnyOf;
using testing::HasSubstr;
using testing::SizeIs;

class RankStreamTest : public GrpcServerTest {
 protected:
  using Stream =
      grpc::ClientReaderWriter<v1::RankStreamRequest, v1::RankStreamResponse>;

  static v1::RankStreamRequest RankItem(const std::string& decision_id) {
    v1::RankStreamRequest item;
    *item.mutable_rank() = GoodRank();
    item.mutable_rank()->mutable_context()->set_decision_id(decision_id);
    return item;
  }
  void Open() {
    StartServer();
    stream_ = ranking_->RankStream(&context_);
  }
  // Sends `count` requests with the ids 0, 1, ...
  void Send(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(stream_->Write(RankItem(absl::StrCat(i))));
    }
  }
  // Reads `count` answers, which must have the ids 0, 1, ...
  void Expect(int count) {
    v1::RankStreamResponse answer;
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(stream_->Read(&answer));
      ASSERT_TRUE(answer.has_rank()) << answer.DebugString();
      EXPECT_EQ(answer.rank().result().decision_id(), absl::StrCat(i));
    }
  }
  // Ends the stream, which has no more answers.
  grpc::Status End() {
    stream_->WritesDone();
    v1::RankStreamResponse answer;
    EXPECT_FALSE(stream_->Read(&answer)) << answer.DebugString();
    return stream_->Finish();
  }
  bool HasLine(const std::string& line) {
    const std::string text = server_->metrics().Text();
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  bool PollWaiting(int n) {
    return PollUntil(Patience(60), [&] {
      return HasLine(absl::StrCat("sortition_spool_waiting ", n));
    });
  }

  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
};

// Far more requests than may be in flight, sent while answers are read.
TEST_F(RankStreamTest, AnswersInOrderWhatItWouldAnswerAlone) {
  constexpr int kCount = 1000;
  Open();
  std::thread sender([&] {
    Send(kCount);
    stream_->WritesDone();
  });
  std::vector<v1::RankResponse> answers;
  v1::RankStreamResponse answer;
  while (stream_->Read(&answer)) answers.push_back(answer.rank());
  sender.join();
  EXPECT_TRUE(stream_->Finish().ok());
  ASSERT_THAT(answers, SizeIs(kCount));
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(answers[i].result().decision_id(), absl::StrCat(i));
  }
  for (const int i : {0, 500, kCount - 1}) {
    v1::RankResponse alone;
    ASSERT_TRUE(Rank(RankItem(absl::StrCat(i)).rank(), &alone).ok());
    EXPECT_EQ(answers[i].SerializeAsString(), alone.SerializeAsString());
  }
  EXPECT_TRUE(HasLine(absl::StrCat(
      "sortition_requests_total{code=\"OK\",method=\"RankStream\"} ", kCount)));
  ASSERT_OK(server_->Drain());
  const auto records = ReadSpool(options_.spool().dir());
  ASSERT_THAT(records, SizeIs(kCount + 3));
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(records[i].decision().log_propensity(),
              answers[i].result().log_propensity());
  }
}

TEST_F(RankStreamTest, MixesKindsOfRequests) {
  auto pick = MakeSelectModel("pick", {1, 2});
  Publish(options_.model_store(), pick);
  auto choose = MakeModel("choose", {1, 2});
  choose.mutable_policy()->mutable_independent_subset();
  Publish(options_.model_store(), choose);
  Open();
  v1::RankStreamRequest select;
  *select.mutable_select()->mutable_context() = GoodRank().context();
  select.mutable_select()->mutable_context()->set_model("pick");
  v1::RankStreamRequest label;
  *label.mutable_label()->mutable_context() = GoodRank().context();
  label.mutable_label()->mutable_context()->set_model("choose");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream_->Write(select));
    ASSERT_TRUE(stream_->Write(label));
    ASSERT_TRUE(stream_->Write(RankItem("r")));
  }
  v1::RankStreamResponse answer;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream_->Read(&answer));
    EXPECT_TRUE(answer.select().has_selected()) << answer.DebugString();
    ASSERT_TRUE(stream_->Read(&answer));
    EXPECT_TRUE(answer.has_label()) << answer.DebugString();
    ASSERT_TRUE(stream_->Read(&answer));
    EXPECT_THAT(answer.rank().order(), SizeIs(3)) << answer.DebugString();
  }
  EXPECT_TRUE(End().ok());
}

TEST_F(RankStreamTest, ARefusedRequestEndsNothing) {
  Open();
  v1::RankStreamRequest bad = RankItem("bad");
  bad.mutable_rank()->set_top_k(0);
  ASSERT_TRUE(stream_->Write(bad));
  ASSERT_TRUE(stream_->Write(v1::RankStreamRequest()));
  bad = RankItem("bad");
  bad.mutable_rank()->mutable_context()->set_model("none");
  ASSERT_TRUE(stream_->Write(bad));
  Send(1);
  v1::RankStreamResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_EQ(answer.error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.error().message(), HasSubstr("top_k = 0"));
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_EQ(answer.error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.error().message(), HasSubstr("rank, select or label"));
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_EQ(answer.error().code(), StatusCode::NOT_FOUND);
  Expect(1);
  EXPECT_TRUE(End().ok());
  EXPECT_TRUE(
      HasLine("sortition_requests_total{code=\"INVALID_ARGUMENT\",method="
              "\"RankStream\"} 2"));
  ASSERT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(1));
}

TEST_F(RankStreamTest, UnreadableBytesAreOneWrongRequest) {
  StartServer();
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  const auto stream =
      stub.PrepareCall(&context_, "/sortition.v1.Ranking/RankStream", &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  stream->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const std::string good = RankItem("good").SerializeAsString();
  for (const std::string& bytes : {std::string(3, '\xFF'), good}) {
    const grpc::Slice slice(bytes);
    stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    ASSERT_TRUE(wait());
  }
  std::vector<v1::RankStreamResponse> answers(2);
  for (v1::RankStreamResponse& answer : answers) {
    grpc::ByteBuffer bytes;
    stream->Read(&bytes, nullptr);
    ASSERT_TRUE(wait());
    grpc::ProtoBufferReader reader(&bytes);
    ASSERT_TRUE(answer.ParseFromZeroCopyStream(&reader));
  }
  EXPECT_EQ(answers[0].error().code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answers[0].error().message(), HasSubstr("3 bytes"));
  EXPECT_EQ(answers[1].rank().result().decision_id(), "good");
  context_.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  wait();
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

// One in the pool keeps its place among the others.
TEST_F(RankStreamTest, LargeRequestsKeepTheOrder) {
  options_.mutable_spool()->set_segment_bytes(1 << 22);
  options_.mutable_limits()->set_max_candidates(300'000);
  Open();
  for (int i = 0; i < 30; ++i) {
    v1::RankStreamRequest item = RankItem(absl::StrCat(i));
    if (i % 10 == 5) {
      SetDense(2, std::vector<float>(400'000, 1),
               item.mutable_rank()->mutable_context());
      item.mutable_rank()->set_top_k(1);
    }
    ASSERT_TRUE(stream_->Write(item));
  }
  Expect(30);
  v1::RankStreamRequest empty = RankItem("empty");
  for (int i = 0; i < 600'000; ++i) {
    empty.mutable_rank()->mutable_context()->mutable_candidates()->add_ids("");
  }
  ASSERT_TRUE(stream_->Write(empty));
  v1::RankStreamResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_THAT(answer.error().message(),
              HasSubstr("rank.context.candidates.ids has more than 300000"));
  EXPECT_TRUE(End().ok());
}

TEST_F(RankStreamTest, EndsAtTheDeadline) {
  context_.set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(50));
  Open();
  v1::RankStreamResponse answer;
  EXPECT_FALSE(stream_->Read(&answer));
  EXPECT_EQ(stream_->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(RankStreamTest, CancelledStreamsAreForgotten) {
  StartServer();
  for (int i = 0; i < 300; ++i) {
    grpc::ClientContext context;
    const auto stream = ranking_->RankStream(&context);
    ASSERT_TRUE(stream->Write(RankItem("d")));
    v1::RankStreamResponse answer;
    ASSERT_TRUE(stream->Read(&answer));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
}

TEST_F(RankStreamTest, DrainEndsStreamsThatAreIdle) {
  options_.set_drain_seconds(3600);
  Open();
  Send(2);
  Expect(2);
  std::thread drain([&] { EXPECT_OK(server_->Drain()); });
  v1::RankStreamResponse answer;
  EXPECT_FALSE(stream_->Read(&answer));
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  drain.join();
}

class RankStreamPowerTest : public RankStreamTest {
 protected:
  RankStreamPowerTest() {
    options_.mutable_spool()->set_durability(SpoolOptions::POWER);
    options_.mutable_spool()->set_sync_interval_seconds(3600);
    options_.set_threads(1);
    options_.set_drain_seconds(3600);
  }
};

TEST_F(RankStreamPowerTest, AnswersWaitTogetherAndAreBounded) {
  constexpr int kMaxInFlight = 64;
  Open();
  std::thread sender([&] { Send(300); });
  {
    const SyncStall stall;
    ASSERT_TRUE(PollWaiting(kMaxInFlight));
    // The thread serves others meanwhile, and reads no more of the stream.
    for (int i = 0; i < 100; ++i) {
      HealthStatus health;
      EXPECT_TRUE(Health(channel_, "", &health).ok());
    }
    EXPECT_TRUE(PollWaiting(kMaxInFlight));
  }
  Expect(300);
  sender.join();
  EXPECT_TRUE(End().ok());
}

TEST_F(RankStreamPowerTest, WhatCannotBeSyncedIsNotAnswered) {
  Open();
  {
    const FileFault fault(
        {.call = FileCall::kSync, .path = ".seg", .error = EIO});
    Send(1);
    v1::RankStreamResponse answer;
    ASSERT_TRUE(stream_->Read(&answer));
    EXPECT_EQ(answer.error().code(), StatusCode::UNAVAILABLE);
    EXPECT_THAT(answer.error().message(),
                HasSubstr("perhaps logged, but not answered"));
  }
}

TEST_F(RankStreamPowerTest, DrainAnswersWhatWasRead) {
  Open();
  std::thread drain;
  {
    const SyncStall stall;
    Send(10);
    ASSERT_TRUE(PollWaiting(10));
    drain = std::thread([&] { EXPECT_OK(server_->Drain()); });
    // A wrong call waits for nothing.
    v1::RankRequest bad = GoodRank();
    bad.mutable_context()->set_model("none");
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      v1::RankResponse response;
      return Rank(bad, &response).error_code() == StatusCode::UNAVAILABLE;
    }));
    // Streams that come now are refused.
    grpc::ClientContext context;
    const auto refused = ranking_->RankStream(&context);
    v1::RankStreamResponse answer;
    EXPECT_FALSE(refused->Read(&answer));
    EXPECT_EQ(refused->Finish().error_code(), StatusCode::UNAVAILABLE);
  }
  Expect(10);
  EXPECT_EQ(End().error_code(), StatusCode::UNAVAILABLE);
  drain.join();
}

// The server is destroyed while the spool still has records of the stream.
TEST_F(RankStreamPowerTest, DrainGivesUpWhatWaitsTooLong) {
  options_.set_drain_seconds(0.01);
  Open();
  std::thread drain;
  {
    const SyncStall stall;
    Send(10);
    ASSERT_TRUE(PollWaiting(10));
    drain = std::thread([&] { EXPECT_OK(server_->Drain()); });
    v1::RankStreamResponse answer;
    EXPECT_FALSE(stream_->Read(&answer));
    EXPECT_THAT(stream_->Finish().error_code(),
                AnyOf(StatusCode::CANCELLED, StatusCode::UNAVAILABLE));
  }
  drain.join();
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(10));
}

TEST_F(RankStreamPowerTest, CallersMayLeaveWhileAnswersWait) {
  Open();
  {
    const SyncStall stall;
    Send(10);
    ASSERT_TRUE(PollWaiting(10));
    context_.TryCancel();
    EXPECT_EQ(stream_->Finish().error_code(), StatusCode::CANCELLED);
  }
  v1::RankResponse response;
  EXPECT_TRUE(Rank(GoodRank(), &response).ok());
  ASSERT_OK(server_->Drain());
  EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(11));
}

}  // namespace
}  // namespace sortition
