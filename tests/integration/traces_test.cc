// Traces of the real programs, at a collector that takes them and at one that
// hangs.
#include <grpcpp/client_context.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/loop_fixture.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/http_client.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kCallerId[] = "b7ad6b7169203331";
// Of another trace.
constexpr char kHttpTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

std::string Traceparent(const std::string& trace_id) {
  return absl::StrCat("00-", trace_id, "-", kCallerId, "-01");
}

class TracesTest : public LoopFixture {
 protected:
  ~TracesTest() override { ::unsetenv("TRACEPARENT"); }

  // Publishes a model, and starts the server with a collector at `endpoint`.
  void StartTracedServer(const std::string& endpoint,
                         const std::vector<std::string>& flags = {}) {
    ASSERT_OK(deployment_.store().Publish(SelectionModel(2, 0.1), nullptr, {}));
    std::vector<std::string> all = {"--tracing.endpoint=" + endpoint,
                                    "--spool.segment_seconds=0.5",
                                    "--spool.writer_id=alpha"};
    all.insert(all.end(), flags.begin(), flags.end());
    ASSERT_OK(deployment_.StartServer(all));
    ranking_ = v1::Ranking::NewStub(deployment_.NewChannel());
  }

  static v1::SelectRequest Request(const std::string& id) {
    v1::SelectRequest request;
    v1::DecisionContext& context = *request.mutable_context();
    context.set_decision_id(id);
    context.mutable_candidates()->set_num_features(2);
    for (const float value : {1.0f, 0.0f, 0.0f, 1.0f}) {
      context.mutable_candidates()->mutable_dense()->add_values(value);
    }
    return request;
  }
  grpc::Status Select(const std::string& id, const std::string& traceparent) {
    grpc::ClientContext context;
    if (!traceparent.empty()) context.AddMetadata("traceparent", traceparent);
    v1::SelectResponse response;
    return ranking_->Select(&context, Request(id), &response);
  }
  grpc::Status Reward(const std::string& id) {
    grpc::ClientContext context;
    v1::ReportFeedbackRequest request;
    v1::Feedback& feedback = *request.add_feedback();
    feedback.set_feedback_id("f-" + id);
    feedback.set_decision_id(id);
    feedback.set_reward(0.5);
    v1::ReportFeedbackResponse response;
    return ranking_->ReportFeedback(&context, request, &response);
  }
  // Ends the server as an operator does. An idle client would notice that only
  // after seconds, at the next poll of gRPC.
  void StopServer() {
    ranking_.reset();
    deployment_.server().Signal(SIGTERM);
    EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  }

  std::unique_ptr<v1::Ranking::Stub> ranking_;
};

TEST_F(TracesTest, ADecisionIsTracedFromItsCallToItsTuple) {
  const FakeCollector fake;
  StartTracedServer(fake.endpoint());
  ASSERT_OK(
      deployment_.StartSidecar({JoinWindow(0.5), "--segment_seconds=0.5",
                                "--tracing.endpoint=" + fake.endpoint()}));
  ASSERT_TRUE(Select("untraced", "").ok());
  ASSERT_TRUE(Select("traced", Traceparent(kTraceId)).ok());
  // The caller gives up, and asks again in a trace of its own.
  ASSERT_TRUE(Select("traced", Traceparent(kHttpTraceId)).ok());
  ASSERT_TRUE(Reward("traced").ok());
  const ReceivedSpan join = fake.Await("join");
  EXPECT_EQ(join.service, "sortition-sidecar");
  EXPECT_EQ(join.trace_id, kTraceId);
  EXPECT_THAT(
      join.attributes,
      testing::AllOf(
          HasSubstr(
              R"({"key":"sortition.decision_id","value":{"stringValue":"traced"}})"),
          HasSubstr(
              R"({"key":"sortition.reward","value":{"doubleValue":0.5}})"),
          HasSubstr(
              R"({"key":"sortition.feedback","value":{"intValue":"1"}})")));
  StopServer();
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);

  // Both calls, and the join below that whose record is in the tuple.
  const auto calls = fake.ChildrenOf(kCallerId);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].trace_id, kTraceId);
  EXPECT_EQ(calls[1].trace_id, kHttpTraceId);
  EXPECT_EQ(join.parent_id, calls[0].span_id);
  EXPECT_GE(join.start_ns, calls[0].end_ns);
  std::vector<std::string> names;
  for (const ReceivedSpan& child : fake.ChildrenOf(calls[0].span_id)) {
    EXPECT_EQ(child.trace_id, kTraceId);
    names.push_back(child.name);
    if (child.name == "join") continue;
    EXPECT_LE(calls[0].start_ns, child.start_ns);
    EXPECT_LE(child.end_ns, calls[0].end_ns);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("admission", "decision",
                                                   "append", "join"));
  // A copy in another trace is a copy.
  ASSERT_OK_AND_ASSIGN(const auto ids, TupleIds(deployment_.tuples()));
  EXPECT_THAT(ids, ElementsAre("untraced", "traced"));
  EXPECT_EQ(fake.spans().size(), 2 * 4 + 1u);
}

TEST_F(TracesTest, CallsOverHttpCarryTheirTrace) {
  const FakeCollector fake;
  StartTracedServer(fake.endpoint());
  const std::string header =
      absl::StrCat("traceparent: ", Traceparent(kHttpTraceId), "\r\n");
  EXPECT_EQ(PostJson(deployment_.http_port(), "/v1/select",
                     R"({"context": {"decision_id": "h", "candidates":
                   {"num_features": 2, "dense": {"values": [1, 0, 0, 1]}}}})",
                     header)
                .code,
            200);
  EXPECT_EQ(PostJson(deployment_.http_port(), "/v1/feedback",
                     R"({"id": "h", "reward": 1})", header)
                .code,
            200);
  StopServer();
  std::vector<std::string> names;
  for (const ReceivedSpan& call : fake.ChildrenOf(kCallerId)) {
    EXPECT_EQ(call.trace_id, kHttpTraceId);
    EXPECT_THAT(call.attributes, HasSubstr(R"("stringValue":"http"})"));
    names.push_back(call.name);
  }
  EXPECT_THAT(names, ElementsAre("sortition.v1.Ranking/Select",
                                 "sortition.v1.Ranking/ReportFeedback"));
}

// An export has five seconds. Neither calls nor the end may wait for it.
TEST_F(TracesTest, ACollectorThatHangsHoldsNothingUp) {
  std::atomic<int> num_hanging = 0;
  HostilePeer hung([&](int fd) {
    HostilePeer::ReadRequest(fd);
    ++num_hanging;
    char byte = 0;
    while (::read(fd, &byte, 1) > 0) continue;
  });
  StartTracedServer("http://" + hung.address(),
                    {"--tracing.sample_rate=1", "--tracing.queue_spans=16"});
  ASSERT_TRUE(Select("first", "").ok());
  ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] { return num_hanging > 0; }));
  // 4 spans each, of which 16 wait.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Select(absl::StrCat(i), "").ok());
  }
  ASSERT_OK_AND_ASSIGN(const std::string metrics, deployment_.ServerMetrics());
  EXPECT_THAT(
      metrics,
      HasSubstr("\nsortition_spans_dropped_total{reason=\"queue_full\"} "));
  const auto start = std::chrono::steady_clock::now();
  StopServer();
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), Patience(4));
  ExpectLogged(deployment_.server(),
               "the last spans were not exported in time");
  ASSERT_OK_AND_ASSIGN(const auto ids, SpoolDecisionIds(deployment_.spool()));
  EXPECT_EQ(ids.size(), 101u);
}

TEST_F(TracesTest, ATrainingRunHasItsPhases) {
  const FakeCollector fake;
  Run({"sortition", "world", "--queries=100",
       "--output=" + deployment_.path("world.letor")});
  Run({"sortition-trainer", "fit", "--draw_salt=" + std::string(32, '0'),
       "--data=" + deployment_.path("world.letor"), StoreFlag()});
  ASSERT_OK(deployment_.StartServer({"--spool.segment_seconds=0.5"}));
  ASSERT_OK(
      deployment_.StartSidecar({JoinWindow(0.5), "--segment_seconds=0.5"}));
  ExpectServed(1);
  Simulate("select", 1, "--decisions=300", {});
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto ids = TupleIds(deployment_.tuples());
    return ids.ok() && ids->size() == 300;
  }));
  ::setenv("TRACEPARENT", Traceparent(kTraceId).c_str(), 1);
  Run({"sortition-trainer", "train", "--tuples=" + deployment_.tuples(),
       StoreFlag(), "--force", "--tracing.endpoint=" + fake.endpoint()});
  ::unsetenv("TRACEPARENT");
  const auto runs = fake.ChildrenOf(kCallerId);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].name, "train");
  EXPECT_EQ(runs[0].service, "sortition-trainer");
  EXPECT_EQ(runs[0].trace_id, kTraceId);
  EXPECT_THAT(
      runs[0].attributes,
      HasSubstr(R"({"key":"sortition.version","value":{"intValue":"2"}})"));
  std::vector<std::string> phases;
  int64_t end_ns = runs[0].start_ns;
  for (const ReceivedSpan& phase : fake.ChildrenOf(runs[0].span_id)) {
    EXPECT_GE(phase.start_ns, end_ns) << phase.name;
    end_ns = phase.end_ns;
    phases.push_back(phase.name);
  }
  EXPECT_LE(end_ns, runs[0].end_ns);
  EXPECT_THAT(phases,
              ElementsAre("read", "fit", "validate", "gate", "publish"));

  // Labelled queries have no validation of their own.
  Run({"sortition-trainer", "train", "--learner=mpg",
       "--data=" + deployment_.path("world.letor"), StoreFlag(), "--model=l",
       "--force", "--tracing.endpoint=" + fake.endpoint()});
  phases.clear();
  for (const ReceivedSpan& phase :
       fake.ChildrenOf(fake.spans().back().span_id)) {
    phases.push_back(phase.name);
  }
  EXPECT_THAT(phases, ElementsAre("read", "fit", "gate", "publish"));
}

TEST_F(TracesTest, AWrongEndpointEndsTheStart) {
  const std::string flag = "--tracing.endpoint=https://collector:4318";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{BinaryPath("sortition-server"), StoreFlag()},
        {BinaryPath("sortition-sidecar"), "--spool=" + deployment_.spool(),
         "--tuples=" + deployment_.tuples()},
        {BinaryPath("sortition-trainer"), "train", StoreFlag(),
         "--tuples=" + deployment_.tuples()},
        {BinaryPath("sortition-trainer"), "rollout", StoreFlag(),
         "--status"}}) {
    std::vector<std::string> all = arguments;
    all.push_back(flag);
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run, RunToEnd(all));
    EXPECT_NE(run.exit_code, 0) << arguments[0];
    EXPECT_THAT(run.stderr_text,
                HasSubstr("must be http://HOST:PORT, perhaps with a path"));
  }
}

}  // namespace
}  // namespace sortition
