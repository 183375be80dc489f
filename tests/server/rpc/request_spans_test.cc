// Which requests are traced, and what their spans are.
#include "server/rpc/request_spans.h"

#include <grpcpp/grpcpp.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kCallerId[] = "b7ad6b7169203331";

std::string Traceparent(const char* flags) {
  return absl::StrCat("00-", kTraceId, "-", kCallerId, "-", flags);
}

std::string Text(const char* key, absl::string_view value) {
  return absl::StrCat("{\"key\":\"", key, "\",\"value\":{\"stringValue\":\"",
                      value, "\"}}");
}
std::string Number(const char* key, int64_t value) {
  return absl::StrCat("{\"key\":\"", key, "\",\"value\":{\"intValue\":\"",
                      value, "\"}}");
}

class RequestSpansTest : public GrpcServerTest {
 protected:
  RequestSpansTest() { *options_.mutable_tracing() = fake_.options(); }

  StatusCode RankWith(const std::string& traceparent,
                      const v1::RankRequest& request) {
    grpc::ClientContext context;
    if (!traceparent.empty()) context.AddMetadata("traceparent", traceparent);
    v1::RankResponse response;
    return ranking_->Rank(&context, request, &response).error_code();
  }
  // Ends the server, which sends all spans before.
  void Stop() { server_.reset(); }

  // Returns the names of the children of `span`, which must be in its trace and
  // follow one another within its time.
  std::vector<std::string> ChildrenInOrder(const ReceivedSpan& span) {
    std::vector<std::string> names;
    int64_t end_ns = span.start_ns;
    for (const ReceivedSpan& child : fake_.ChildrenOf(span.span_id)) {
      EXPECT_EQ(child.trace_id, span.trace_id);
      EXPECT_GE(child.start_ns, end_ns) << child.name;
      EXPECT_GE(child.end_ns, child.start_ns) << child.name;
      end_ns = child.end_ns;
      names.push_back(child.name);
    }
    EXPECT_LE(end_ns, span.end_ns);
    return names;
  }

  const FakeCollector fake_;
};

TEST_F(RequestSpansTest, ASampledCallIsAChildOfItsCaller) {
  StartServer();
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_decision_id("d");
  EXPECT_EQ(RankWith(Traceparent("01"), request), StatusCode::OK);
  Stop();
  const ReceivedSpan call = fake_.Await("sortition.v1.Ranking/Rank");
  EXPECT_EQ(call.service, "sortition-server");
  EXPECT_EQ(call.trace_id, kTraceId);
  EXPECT_EQ(call.parent_id, kCallerId);
  EXPECT_FALSE(call.is_error);
  EXPECT_THAT(ChildrenInOrder(call),
              ElementsAre("admission", "decision", "append"));
  EXPECT_THAT(call.attributes,
              AllOf(HasSubstr(Text("rpc.service", "sortition.v1.Ranking")),
                    HasSubstr(Text("rpc.method", "Rank")),
                    HasSubstr(Number("rpc.grpc.status_code", 0)),
                    HasSubstr(Text("sortition.status", "OK")),
                    HasSubstr(Text("sortition.transport", "grpc")),
                    HasSubstr(Text("sortition.decision_id", "d")),
                    HasSubstr(Text("sortition.model", "m")),
                    HasSubstr(Number("sortition.version", 1)),
                    HasSubstr(Text("sortition.policy", "plackett_luce")),
                    HasSubstr(Number("sortition.candidates", 3))));
  EXPECT_EQ(fake_.spans().size(), 4u);
  // The join continues the trace from here.
  const auto records = ReadSpool(options_.spool().dir());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(absl::BytesToHexString(records[0].decision().trace_context()),
            kTraceId + call.span_id);
}

// A thread of the pool decides, so the wait for it is admission, too.
TEST_F(RequestSpansTest, ALargeCallIsTracedThroughThePool) {
  for (const auto durability :
       {config::v1::SpoolOptions::PROCESS, config::v1::SpoolOptions::POWER}) {
    options_.mutable_spool()->set_durability(durability);
    StartServer();
    constexpr int kCandidates = 20000;  // 160 kB, more than 128 KiB.
    v1::RankRequest request;
    SetDense(2, std::vector<float>(2 * kCandidates, 1),
             request.mutable_context());
    request.set_top_k(3);
    EXPECT_EQ(RankWith(Traceparent("01"), request), StatusCode::OK);
    Stop();
  }
  const auto calls = fake_.ChildrenOf(kCallerId);
  ASSERT_EQ(calls.size(), 2u);
  for (const ReceivedSpan& call : calls) {
    EXPECT_THAT(ChildrenInOrder(call),
                ElementsAre("admission", "decision", "append"));
    EXPECT_THAT(call.attributes,
                HasSubstr(Number("sortition.candidates", 20000)));
  }
}

TEST_F(RequestSpansTest, OtherCallsAreNotTraced) {
  StartServer();
  for (const std::string& traceparent :
       {std::string(), Traceparent("00"), std::string("00-zz")}) {
    EXPECT_EQ(RankWith(traceparent, GoodRank()), StatusCode::OK);
  }
  {
    // A header that there may be once only.
    grpc::ClientContext context;
    context.AddMetadata("traceparent", Traceparent("01"));
    context.AddMetadata("traceparent", Traceparent("01"));
    v1::RankResponse response;
    EXPECT_TRUE(ranking_->Rank(&context, GoodRank(), &response).ok());
  }
  Stop();
  EXPECT_THAT(fake_.requests(), IsEmpty());
  for (const auto& record : ReadSpool(options_.spool().dir())) {
    EXPECT_EQ(record.decision().trace_context(), "");
  }
}

TEST_F(RequestSpansTest, TheRateTracesCallsWithoutATraceparent) {
  options_.mutable_tracing()->set_sample_rate(1);
  StartServer();
  EXPECT_EQ(RankWith("", GoodRank()), StatusCode::OK);
  EXPECT_EQ(RankWith(Traceparent("00"), GoodRank()), StatusCode::OK);
  Stop();
  const ReceivedSpan call = fake_.Await("sortition.v1.Ranking/Rank");
  EXPECT_EQ(call.parent_id, "");
  EXPECT_NE(call.trace_id, kTraceId);
  EXPECT_EQ(fake_.spans().size(), 4u);
}

TEST_F(RequestSpansTest, ARefusedCallHasNoAppendAndIsNoFault) {
  StartServer();
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_model("unheard of");
  EXPECT_EQ(RankWith(Traceparent("01"), request), StatusCode::NOT_FOUND);
  Stop();
  const ReceivedSpan call = fake_.Await("sortition.v1.Ranking/Rank");
  EXPECT_FALSE(call.is_error);
  EXPECT_THAT(call.attributes,
              AllOf(HasSubstr(Number("rpc.grpc.status_code", 5)),
                    HasSubstr(Text("sortition.status", "NOT_FOUND")),
                    Not(HasSubstr("sortition.model"))));
  EXPECT_THAT(ChildrenInOrder(call), ElementsAre("admission", "decision"));
}

// A record that the disk does not take is UNAVAILABLE.
TEST_F(RequestSpansTest, ACallThatCannotBeLoggedIsAFault) {
  StartServer();
  {
    const FileFault fault(
        {.call = FileCall::kWrite, .path = "spool", .error = EIO});
    EXPECT_EQ(RankWith(Traceparent("01"), GoodRank()), StatusCode::UNAVAILABLE);
  }
  Stop();
  const ReceivedSpan call = fake_.Await("sortition.v1.Ranking/Rank");
  EXPECT_TRUE(call.is_error);
  EXPECT_THAT(call.attributes,
              HasSubstr(Text("sortition.status", "UNAVAILABLE")));
  EXPECT_THAT(ChildrenInOrder(call),
              ElementsAre("admission", "decision", "append"));
}

TEST_F(RequestSpansTest, AppendLastsUntilTheDiskHasTheRecord) {
  options_.mutable_spool()->set_durability(config::v1::SpoolOptions::POWER);
  options_.mutable_spool()->set_sync_interval_seconds(3600);
  StartServer();
  int64_t stalled_ns = 0;
  std::thread caller;
  {
    const SyncStall stall;
    caller = std::thread([this] {
      EXPECT_EQ(RankWith(Traceparent("01"), GoodRank()), StatusCode::OK);
    });
    EXPECT_TRUE(
        PollUntil(Patience(60), [&] { return stall.num_waiting() > 0; }));
    stalled_ns = absl::GetCurrentTimeNanos();
  }
  caller.join();
  Stop();
  EXPECT_THAT(ChildrenInOrder(fake_.Await("sortition.v1.Ranking/Rank")),
              ElementsAre("admission", "decision", "append"));
  const ReceivedSpan append = fake_.Await("append");
  EXPECT_LE(append.start_ns, stalled_ns);
  EXPECT_GE(append.end_ns, stalled_ns);
}

TEST_F(RequestSpansTest, ReportsAreTraced) {
  StartServer();
  {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", Traceparent("01"));
    v1::ReportFeedbackRequest request;
    for (const char* const id : {"a", "b"}) {
      v1::Feedback& feedback = *request.add_feedback();
      feedback.set_feedback_id(id);
      feedback.set_decision_id("d");
      feedback.set_reward(1);
    }
    v1::ReportFeedbackResponse response;
    EXPECT_TRUE(ranking_->ReportFeedback(&context, request, &response).ok());
  }
  {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", Traceparent("01"));
    v1::ReportShownRequest request;
    request.set_decision_id("d");
    request.add_shown(0);
    v1::ReportShownResponse response;
    EXPECT_TRUE(ranking_->ReportShown(&context, request, &response).ok());
  }
  Stop();
  const ReceivedSpan feedback =
      fake_.Await("sortition.v1.Ranking/ReportFeedback");
  EXPECT_THAT(feedback.attributes, HasSubstr(Number("sortition.reports", 2)));
  EXPECT_THAT(ChildrenInOrder(feedback),
              ElementsAre("admission", "decision", "append"));
  const ReceivedSpan shown = fake_.Await("sortition.v1.Ranking/ReportShown");
  EXPECT_THAT(shown.attributes, HasSubstr(Text("sortition.decision_id", "d")));
}

TEST_F(RequestSpansTest, EachRequestOfAStreamHasASpan) {
  StartServer();
  {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", Traceparent("01"));
    const auto stream = ranking_->RankStream(&context);
    v1::RankStreamRequest request;
    *request.mutable_rank() = GoodRank();
    v1::RankStreamResponse response;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(stream->Write(request));
      ASSERT_TRUE(stream->Read(&response));
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  Stop();
  const auto calls = fake_.ChildrenOf(kCallerId);
  ASSERT_EQ(calls.size(), 3u);
  for (const ReceivedSpan& call : calls) {
    EXPECT_EQ(call.name, "sortition.v1.Ranking/RankStream");
    EXPECT_THAT(ChildrenInOrder(call),
                ElementsAre("admission", "decision", "append"));
  }
}

TEST_F(RequestSpansTest, ProbesAndControlCallsAreNot) {
  options_.mutable_tracing()->set_sample_rate(1);
  StartServer();
  HealthStatus health = grpc::health::v1::HealthCheckResponse::UNKNOWN;
  EXPECT_TRUE(Health(channel_, "", &health).ok());
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  EXPECT_TRUE(
      v1::Models::NewStub(channel_)->ListModels(&context, {}, &models).ok());
  Stop();
  EXPECT_THAT(fake_.requests(), IsEmpty());
}

}  // namespace
}  // namespace sortition
