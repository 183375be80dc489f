#include "process/tracing/tracer.h"

#include <cmath>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr char kSampled[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kNotSampled[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

std::unique_ptr<Tracer> NewTracer(const FakeCollector& fake, double rate) {
  config::v1::TracingOptions options = fake.options();
  options.set_sample_rate(rate);
  auto tracer = Tracer::Create(options, "test", "", nullptr);
  EXPECT_OK(tracer);
  return *std::move(tracer);
}

TEST(TracerTest, IsOffWithoutAnEndpoint) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tracer> tracer,
                       Tracer::Create({}, "test", "", nullptr));
  EXPECT_EQ(tracer, nullptr);
}

TEST(TracerTest, TheCallersFlagDecidesWhateverTheRate) {
  const FakeCollector fake;
  for (const double rate : {0.0, 1.0}) {
    const std::unique_ptr<Tracer> tracer = NewTracer(fake, rate);
    const auto ids = tracer->Sample(kSampled);
    ASSERT_TRUE(ids.has_value());
    const auto parent = ParseTraceparent(kSampled);
    EXPECT_EQ(ids->trace_id, parent->trace_id);
    EXPECT_EQ(ids->parent_id, parent->span_id);
    EXPECT_NE(ids->span_id, parent->span_id);
    EXPECT_FALSE(tracer->Sample(kNotSampled).has_value());
  }
}

TEST(TracerTest, MalformedCountsAsAbsent) {
  const FakeCollector fake;
  for (const char* const header : {"", "00-zz", "nonsense"}) {
    EXPECT_FALSE(NewTracer(fake, 0)->Sample(header).has_value());
    const auto ids = NewTracer(fake, 1)->Sample(header);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(ids->parent_id, SpanId{});
    EXPECT_NE(ids->trace_id, TraceId{});
  }
}

TEST(TracerTest, TheRateIsTheShareOfCallsWithoutCaller) {
  const FakeCollector fake;
  const std::unique_ptr<Tracer> tracer = NewTracer(fake, 0.25);
  constexpr int kCalls = 40000;
  int sampled = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (tracer->Sample("").has_value()) ++sampled;
  }
  // Standard deviation √(40,000 · 0.25 · 0.75) = 87; beyond 6 of them once in
  // 5e8 runs.
  EXPECT_NEAR(sampled, kCalls / 4, 6 * 87);
}

TEST(TracerTest, CallsThatAreNotRecordedAllocateNothing) {
  const FakeCollector fake;
  const std::unique_ptr<Tracer> tracer = NewTracer(fake, 1e-300);
  tracer->Sample("");  // The first call of a thread seeds its numbers.
  const int64_t before = NumAllocations();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(tracer->Sample(kNotSampled).has_value());
    EXPECT_FALSE(tracer->Sample("").has_value());
  }
  EXPECT_EQ(NumAllocations(), before);
}

}  // namespace
}  // namespace sortition
