#include "process/tracing/span_exporter.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/metrics.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/fake_collector.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<Span> Spans(size_t count) {
  std::vector<Span> spans(count);
  for (size_t i = 0; i < count; ++i) {
    spans[i].trace_id = NewTraceId();
    spans[i].span_id = NewSpanId();
    spans[i].name = absl::StrCat("span ", i);
  }
  return spans;
}

class SpanExporterTest : public testing::Test {
 protected:
  // A collector that takes connections and never answers until Release().
  SpanExporterTest()
      : hung_([this](int fd) {
          HostilePeer::ReadRequest(fd);
          ++num_hanging_;
          // The exporter gives up, or its test ends.
          while (!hung_.must_stop() && !is_released_) {
            pollfd end = {fd, POLLRDHUP, 0};
            if (::poll(&end, 1, 10) > 0) break;
          }
        }) {}
  ~SpanExporterTest() override { is_released_ = true; }

  std::unique_ptr<SpanExporter> NewExporter(const std::string& address,
                                            size_t max_spans) {
    return std::make_unique<SpanExporter>(
        Collector{.address = address, .path = "/v1/traces", .headers = ""},
        std::vector<SpanAttribute>{{"service.name", std::string("test")}},
        max_spans, &metrics_);
  }
  std::unique_ptr<SpanExporter> NewExporter(const FakeCollector& fake,
                                            size_t max_spans = 8192) {
    return NewExporter(fake.endpoint().substr(sizeof("http://") - 1),
                       max_spans);
  }
  double Dropped(const char* reason) {
    return metrics_
        .Counter("sortition_spans_dropped_total", "", {{"reason", reason}})
        ->value();
  }
  double Exported() {
    return metrics_.Counter("sortition_spans_exported_total", "")->value();
  }
  double Failures(const char* reason) {
    return metrics_
        .Counter("sortition_span_export_failures_total", "",
                 {{"reason", reason}})
        ->value();
  }

  Metrics metrics_;
  std::atomic<bool> is_released_{false};
  std::atomic<int> num_hanging_{0};
  HostilePeer hung_;
};

TEST_F(SpanExporterTest, SendsAllSpansInBatches) {
  constexpr size_t kSpans = 2 * SpanExporter::kSpansPerExport + 3;
  const FakeCollector fake;
  const auto exporter = NewExporter(fake);
  for (size_t i = 0; i < kSpans; ++i) exporter->Add(Spans(1));
  exporter->Stop();
  EXPECT_EQ(fake.spans().size(), kSpans);
  EXPECT_EQ(Exported(), kSpans);
  EXPECT_GE(fake.requests().size(), 3u);
  EXPECT_EQ(Dropped("queue_full") + Dropped("export_failed"), 0);
}

TEST_F(SpanExporterTest, SendsWithoutBeingStopped) {
  const FakeCollector fake;
  const auto exporter = NewExporter(fake);
  exporter->Add(Spans(1));
  EXPECT_EQ(fake.Await("span 0").service, "test");
}

// The queue holds spans that are being sent, too: they are in memory.
TEST_F(SpanExporterTest, AFullQueueDropsWholeRequestsAndCountsThem) {
  constexpr size_t kMost = 100;
  const auto exporter = NewExporter(hung_.address(), kMost);
  exporter->Add(Spans(60));
  ASSERT_TRUE(PollUntil(Patience(60), [&] { return num_hanging_ == 1; }));
  exporter->Add(Spans(30));
  exporter->Add(Spans(11));  // 101.
  EXPECT_EQ(Dropped("queue_full"), 11);
  exporter->Add(Spans(10));
  EXPECT_EQ(Dropped("queue_full"), 11);
  exporter->Add(Spans(1));
  EXPECT_EQ(Dropped("queue_full"), 12);
  CaptureLog();
  exporter->Stop();
  EXPECT_EQ(Dropped("export_failed"), kMost);
  EXPECT_EQ(Exported(), 0);
  EXPECT_THAT(CapturedLog(),
              HasSubstr("the last spans were not exported in time"));
}

// The time of one export to a collector that hangs is 5 s.
TEST_F(SpanExporterTest, TheEndDoesNotWaitForACollectorThatHangs) {
  auto exporter = NewExporter(hung_.address(), 100);
  exporter->Add(Spans(1));
  ASSERT_TRUE(PollUntil(Patience(60), [&] { return num_hanging_ == 1; }));
  CaptureLog();
  const auto start = std::chrono::steady_clock::now();
  exporter.reset();
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - start;
  CapturedLog();
  EXPECT_GE(time.count(), SpanExporter::kFlushSeconds);
  EXPECT_LT(time.count(), 4);
}

TEST_F(SpanExporterTest, AddingAfterTheEndDropsQuietly) {
  const FakeCollector fake;
  const auto exporter = NewExporter(fake);
  exporter->Stop();
  exporter->Add(Spans(1));
  exporter->Stop();
  EXPECT_TRUE(fake.requests().empty());
}

TEST_F(SpanExporterTest, TriesAgainWhereThatMayHelp) {
  const FakeCollector fake({503, 429, 200});
  const auto exporter = NewExporter(fake);
  CaptureLog();
  exporter->Add(Spans(2));
  fake.Await("span 1");
  exporter->Stop();
  EXPECT_THAT(CapturedLog(),
              AllOf(HasSubstr("spans could not be exported"),
                    HasSubstr("\"reason\":\"overloaded\""),
                    HasSubstr("the collector takes spans again")));
  EXPECT_EQ(fake.requests().size(), 3u);
  EXPECT_EQ(Exported(), 2);
  EXPECT_EQ(Failures("overloaded"), 2);
  EXPECT_EQ(Dropped("export_failed"), 0);
}

TEST_F(SpanExporterTest, WhatIsRejectedIsDroppedAtOnce) {
  const FakeCollector fake({400, 200});
  const auto exporter = NewExporter(fake);
  CaptureLog();
  exporter->Add(Spans(2));
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return Dropped("export_failed") == 2; }));
  exporter->Add(Spans(1));
  exporter->Stop();
  CapturedLog();
  EXPECT_EQ(fake.requests().size(), 2u);
  EXPECT_EQ(Failures("rejected"), 1);
  EXPECT_EQ(Exported(), 1);
}

TEST_F(SpanExporterTest, ACollectorThatIsAwayIsCounted) {
  std::string address;
  {
    const HostilePeer gone([](int) {});
    address = gone.address();
  }
  CaptureLog();
  const auto exporter = NewExporter(address, 100);
  exporter->Add(Spans(3));
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return Dropped("export_failed") == 3; }));
  exporter->Stop();
  // One line, not one for each of the four attempts.
  const std::string log = CapturedLog();
  EXPECT_THAT(log, HasSubstr("\"reason\":\"unreachable\""));
  EXPECT_EQ(log.find("spans could not"), log.rfind("spans could not"));
  EXPECT_EQ(Failures("unreachable"), 4);
}

}  // namespace
}  // namespace sortition
