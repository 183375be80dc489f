#include "process/metrics.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Returns a socket that is connected to 127.0.0.1:port.
int Connect(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
            0);
  return socket;
}

// Returns header and body of GET /metrics from 127.0.0.1:port.
std::string Scrape(int port) {
  const int socket = Connect(port);
  std::string text;
  const std::string request =
      "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (::write(socket, request.data(), request.size()) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n; (n = ::read(socket, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  ::close(socket);
  return text;
}

TEST(MetricsTest, SameNameAndLabelsGiveTheSameHandle) {
  Metrics metrics;
  MetricCounter* a = metrics.Counter("c_total", "help", {{"k", "a"}});
  MetricCounter* b = metrics.Counter("c_total", "help", {{"k", "b"}});
  EXPECT_NE(a, b);
  EXPECT_EQ(metrics.Counter("c_total", "help", {{"k", "a"}}), a);
  a->Increment();
  a->Increment(2.5);
  EXPECT_EQ(a->value(), 3.5);
  EXPECT_EQ(b->value(), 0);
}

TEST(MetricsTest, WhatIsRemovedIsNotServedAndBeginsAgain) {
  Metrics metrics;
  metrics.Counter("c_total", "help", {{"k", "a"}})->Increment(2);
  metrics.Counter("c_total", "help", {{"k", "b"}})->Increment(3);
  metrics.Gauge("g", "help", {{"k", "a"}})->Set(4);
  metrics.RemoveCounter("c_total", {{"k", "a"}});
  metrics.RemoveGauge("g", {{"k", "a"}});
  metrics.RemoveGauge("g", {{"k", "never there"}});
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("c_total{k=\"b\"} 3\n"),
                                    testing::Not(HasSubstr("k=\"a\"")),
                                    testing::Not(HasSubstr("never"))));
  EXPECT_EQ(metrics.Counter("c_total", "help", {{"k", "a"}})->value(), 0);
}

TEST(MetricsTest, HistogramsCanBeRemoved) {
  Metrics metrics;
  metrics.Histogram("h", "help", {1, 2}, {{"k", "a"}})->Observe(1);
  metrics.Histogram("h", "help", {1, 2}, {{"k", "b"}})->Observe(1);
  metrics.RemoveHistogram("h", {{"k", "a"}});
  metrics.RemoveHistogram("h", {{"k", "never there"}});
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("h_count{k=\"b\"} 1\n"),
                                    testing::Not(HasSubstr("k=\"a\"")),
                                    testing::Not(HasSubstr("never"))));
}

TEST(MetricsTest, ReadsWhatTextSays) {
  Metrics metrics;
  metrics.Counter("c_total", "help", {{"k", "a"}})->Increment(2);
  MetricGauge* const gauge = metrics.Gauge("g", "help");
  metrics.OnScrape([gauge] { gauge->Set(-1.5); });
  MetricHistogram* const histogram = metrics.Histogram("h", "help", {1, 2});
  for (const double value : {0.5, 1.0, 1.5, 9.0}) histogram->Observe(value);
  const MetricSamples samples = metrics.Read();
  const MetricSample& counter = samples.at("c_total").at(0);
  EXPECT_EQ(counter.value, 2);
  EXPECT_EQ(counter.labels, (MetricLabels{{"k", "a"}}));
  EXPECT_EQ(samples.at("g").at(0).value, -1.5);
  const MetricSample& read = samples.at("h").at(0);
  EXPECT_EQ(read.value, 12);
  EXPECT_EQ(read.bounds, (std::vector<double>{1, 2}));
  EXPECT_EQ(read.counts, (std::vector<uint64_t>{2, 1, 1}));
}

// Together with one that has that name itself, under one header.
TEST(MetricsTest, HistogramIsAlsoServedUnderASecondName) {
  Metrics metrics;
  MetricHistogram* first = metrics.Histogram("h", "help", {1}, {{"k", "a"}});
  metrics.Histogram("second", "help", {2}, {{"l", "own"}})->Observe(1);
  metrics.AlsoServe(first, "second", "help", {{"l", "x"}, {"m", "y"}});
  metrics.AlsoServe(first, "third", "the third", {});
  first->Observe(0.5);
  first->Observe(3);
  const std::string text = metrics.Text();
  EXPECT_THAT(text,
              AllOf(HasSubstr("h_bucket{k=\"a\",le=\"1\"} 1\n"),
                    HasSubstr("second_count{l=\"own\"} 1\n"),
                    HasSubstr("second_count{l=\"x\",m=\"y\"} 2\n"),
                    HasSubstr("second_sum{l=\"x\",m=\"y\"} 3.5\n"),
                    HasSubstr("second_bucket{l=\"x\",m=\"y\",le=\"1\"} 1\n"),
                    HasSubstr("# HELP third the third\n"),
                    HasSubstr("third_count 2\n")));
  const std::string header = "# TYPE second histogram\n";
  EXPECT_EQ(text.find(header), text.rfind(header));
  EXPECT_THAT(text, HasSubstr(header));
}

TEST(MetricsTest, TextHoldsAllKinds) {
  Metrics metrics;
  metrics.Counter("requests_total", "Requests", {{"code", "OK"}})->Increment(2);
  metrics.Gauge("depth", "Depth")->Set(7);
  MetricHistogram* histogram = metrics.Histogram("size", "Size", {1, 10});
  histogram->Observe(0.5);
  histogram->Observe(5);
  histogram->Observe(50);
  EXPECT_THAT(metrics.Text(),
              AllOf(HasSubstr("# HELP requests_total Requests\n"),
                    HasSubstr("requests_total{code=\"OK\"} 2\n"),
                    HasSubstr("depth 7\n"), HasSubstr("size_count 3\n"),
                    HasSubstr("size_bucket{le=\"1\"} 1\n"),
                    HasSubstr("size_bucket{le=\"10\"} 2\n"),
                    HasSubstr("size_bucket{le=\"+Inf\"} 3\n")));
}

TEST(MetricsTest, ScrapeUpdatesRunBeforeEveryText) {
  Metrics metrics;
  MetricGauge* gauge = metrics.Gauge("scrapes", "Scrapes");
  int scrapes = 0;
  metrics.OnScrape([&] { gauge->Set(++scrapes); });
  EXPECT_THAT(metrics.Text(), HasSubstr("scrapes 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("scrapes 2\n"));
}

TEST(MetricsTest, SaysWhatTheProcessIsAndUses) {
  Metrics metrics;
  metrics.Text();
  EXPECT_THAT(metrics.Text(), HasSubstr("sortition_build_info{version=\""));
  // Between a megabyte and a terabyte if the unit is bytes, not pages or
  // kilobytes.
  EXPECT_GT(metrics.Gauge("process_resident_memory_bytes", "")->value(), 1e6);
  EXPECT_LT(metrics.Gauge("process_resident_memory_bytes", "")->value(), 1e12);
  EXPECT_GE(metrics.Gauge("process_open_fds", "")->value(), 3);
  EXPECT_GE(metrics.Gauge("process_threads", "")->value(), 1);
  // Within the last day if the unit is seconds since the epoch.
  const auto now = static_cast<double>(::time(nullptr));
  const double start = metrics.Gauge("process_start_time_seconds", "")->value();
  EXPECT_GT(start, now - 86400);
  EXPECT_LT(start, now + 5);
}

TEST(MetricsTest, ServesOnAFreePortAndRefusesATakenOne) {
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  EXPECT_GT(port, 0);
  metrics.Counter("served_total", "Served")->Increment();
  EXPECT_THAT(Scrape(port),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("served_total 1")));
  Metrics other;
  const std::string taken = "127.0.0.1:" + std::to_string(port);
  EXPECT_THAT(other.Serve(taken),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(taken)));
  EXPECT_THAT(
      other.Serve("not an address"),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not an address")));
}

// If each of them had a thread until http.request_seconds (10 s) are over, 500
// clients of the few threads would delay the scrape by minutes.
TEST(MetricsTest, SilentClientsDoNotBlockAScrape) {
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  std::vector<int> silent;
  for (int i = 0; i < 500; ++i) silent.push_back(Connect(port));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Scrape(port), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::duration<double>(Patience(60)));
  for (const int socket : silent) ::close(socket);
}

TEST(MetricsTest, LatencyBucketsAscend) {
  const std::vector<double> buckets = LatencyBuckets();
  EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()));
  EXPECT_EQ(buckets.front(), 25e-6);
  EXPECT_EQ(buckets.back(), 5);
}

}  // namespace
}  // namespace sortition
