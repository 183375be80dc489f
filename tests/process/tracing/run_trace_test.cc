#include "process/tracing/run_trace.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Sets TRACEPARENT for one test.
class RunTraceTest : public testing::Test {
 protected:
  ~RunTraceTest() override { ::unsetenv("TRACEPARENT"); }

  // Runs two phases, of which the second one ends with `status`.
  void Run(const absl::Status& status) {
    ASSERT_OK_AND_ASSIGN(RunTrace trace,
                         RunTrace::Begin(fake_.options(), "trainer", "train"));
    trace.Set("model", std::string("m"));
    trace.BeginPhase("read");
    trace.BeginPhase("fit");
    trace.End(status);
    trace.End(status);
  }

  const FakeCollector fake_;
};

TEST_F(RunTraceTest, PhasesAreChildrenOneAfterTheOther) {
  Run(absl::OkStatus());
  const auto spans = fake_.spans();
  ASSERT_EQ(spans.size(), 3u);
  const ReceivedSpan& read = spans[0];
  const ReceivedSpan& fit = spans[1];
  const ReceivedSpan& run = spans[2];
  EXPECT_EQ(run.name, "train");
  EXPECT_EQ(run.service, "trainer");
  EXPECT_EQ(run.parent_id, "");
  EXPECT_THAT(run.attributes, HasSubstr(R"({"key":"model","value":{"string)"));
  for (const ReceivedSpan& phase : {read, fit}) {
    EXPECT_EQ(phase.trace_id, run.trace_id);
    EXPECT_EQ(phase.parent_id, run.span_id);
    EXPECT_FALSE(phase.is_error);
  }
  EXPECT_LE(run.start_ns, read.start_ns);
  EXPECT_LE(read.start_ns, read.end_ns);
  EXPECT_EQ(read.end_ns, fit.start_ns);
  EXPECT_EQ(fit.end_ns, run.end_ns);
}

TEST_F(RunTraceTest, AnErrorIsThatOfTheLastPhase) {
  Run(absl::NotFoundError("no tuples"));
  const auto spans = fake_.spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_FALSE(spans[0].is_error);
  EXPECT_TRUE(spans[1].is_error);
  EXPECT_TRUE(spans[2].is_error);
}

TEST_F(RunTraceTest, ContinuesTheTraceOfTheScheduler) {
  ::setenv("TRACEPARENT",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 1);
  Run(absl::OkStatus());
  const ReceivedSpan run = fake_.Await("train");
  EXPECT_EQ(run.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(run.parent_id, "b7ad6b7169203331");
}

TEST_F(RunTraceTest, AnUnsampledSchedulerTurnsItOff) {
  ::setenv("TRACEPARENT",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 1);
  Run(absl::OkStatus());
  EXPECT_TRUE(fake_.requests().empty());
}

TEST_F(RunTraceTest, IsOffWithoutAnEndpoint) {
  ASSERT_OK_AND_ASSIGN(RunTrace trace, RunTrace::Begin({}, "trainer", "train"));
  trace.BeginPhase("read");
  trace.End(absl::OkStatus());
  EXPECT_TRUE(fake_.requests().empty());
}

}  // namespace
}  // namespace sortition
