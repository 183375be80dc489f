#include "server/status/traffic_figures.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/models/version_counters.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

MetricLabels Call(const std::string& method, const std::string& code) {
  return {{"method", method}, {"code", code}};
}

class TrafficFiguresTest : public testing::Test {
 protected:
  MetricCounter* Requests(const std::string& method, const std::string& code) {
    return metrics_.Counter("sortition_requests_total", "help",
                            Call(method, code));
  }
  MetricHistogram* Seconds(const std::string& method) {
    return metrics_.Histogram("sortition_request_seconds", "help",
                              {0.001, 0.01}, {{"method", method}});
  }

  Metrics metrics_;
};

TEST_F(TrafficFiguresTest, CallsHaveCodesRatesAndPercentilesOfTheMinute) {
  Requests("Rank", "OK")->Increment(100);
  for (int i = 0; i < 100; ++i) Seconds("Rank")->Observe(0.5);
  const MetricSamples before = metrics_.Read();
  Requests("Rank", "OK")->Increment(6);
  Requests("Rank", "INVALID_ARGUMENT")->Increment(2);
  for (int i = 0; i < 8; ++i) Seconds("Rank")->Observe(0.0005);
  Seconds("Select");
  status::v1::Server server;
  SetCalls(metrics_.Read(), {&before, 4}, &server);
  ASSERT_THAT(server.methods(), SizeIs(2));
  const status::v1::Method& rank = server.methods(0);
  EXPECT_EQ(rank.method(), "Rank");
  ASSERT_THAT(rank.codes(), SizeIs(2));
  EXPECT_EQ(rank.per_second(), 2);  // 8 in 4 s.
  // All of the last minute are in the first bin, from 0 to 1 ms.
  EXPECT_DOUBLE_EQ(rank.p50_seconds(), 0.0005);
  EXPECT_DOUBLE_EQ(rank.p99_seconds(), 0.00099);
  EXPECT_EQ(server.methods(1).method(), "Select");
  EXPECT_EQ(server.methods(1).p50_seconds(), 0);
  ASSERT_THAT(server.refusals(), SizeIs(1));
  EXPECT_EQ(server.refusals(0).name(), "INVALID_ARGUMENT");
  EXPECT_EQ(server.refusals(0).count(), 2u);
}

TEST_F(TrafficFiguresTest, RefusalsCountOnceByTheirReason) {
  Requests("Rank", "RESOURCE_EXHAUSTED")->Increment(7);
  metrics_
      .Counter("sortition_requests_refused_total", "help",
               {{"reason", "deadline"}})
      ->Increment(4);
  metrics_
      .Counter("sortition_requests_refused_total", "help", {{"reason", "wait"}})
      ->Increment(0);
  metrics_.Counter("sortition_spool_refused_total", "help")->Increment(3);
  Requests("Rank", "NOT_FOUND")->Increment(1);
  Requests("Select", "NOT_FOUND")->Increment(1);
  status::v1::Server server;
  const MetricSamples none;
  SetCalls(metrics_.Read(), {&none, 1}, &server);
  ASSERT_THAT(server.refusals(), SizeIs(3));
  EXPECT_EQ(server.refusals(0).name(), "NOT_FOUND");
  EXPECT_EQ(server.refusals(0).count(), 2u);
  EXPECT_EQ(server.refusals(1).name(), "log");
  EXPECT_EQ(server.refusals(1).count(), 3u);
  EXPECT_EQ(server.refusals(2).name(), "overload: deadline");
  EXPECT_EQ(server.refusals(2).count(), 4u);
}

// With REFUSE and a disk that fails the spool counts what it refuses, and the
// answer is UNAVAILABLE: of nine such answers two have another reason.
TEST_F(TrafficFiguresTest, RefusalsOfAFailingLogCountOnce) {
  Requests("Rank", "RESOURCE_EXHAUSTED")->Increment(7);
  Requests("Rank", "UNAVAILABLE")->Increment(9);
  metrics_
      .Counter("sortition_requests_refused_total", "help", {{"reason", "wait"}})
      ->Increment(4);
  metrics_.Counter("sortition_spool_refused_total", "help")->Increment(10);
  status::v1::Server server;
  const MetricSamples none;
  SetCalls(metrics_.Read(), {&none, 1}, &server);
  ASSERT_THAT(server.refusals(), SizeIs(3));
  EXPECT_EQ(server.refusals(0).name(), "UNAVAILABLE");
  EXPECT_EQ(server.refusals(0).count(), 2u);
  EXPECT_EQ(server.refusals(1).name(), "log");
  EXPECT_EQ(server.refusals(1).count(), 10u);
  EXPECT_EQ(server.refusals(2).name(), "overload: wait");
  EXPECT_EQ(server.refusals(2).count(), 4u);
}

TEST_F(TrafficFiguresTest, DecisionsAreByVersionNewestFirst) {
  const VersionCounterTable table(&metrics_);
  const auto first = table.For("m", 9);
  const auto second = table.For("m", 10);
  const auto other = table.For("n", 1);
  first->Count(absl::StatusCode::kOk, 0);
  const MetricSamples before = metrics_.Read();
  for (int i = 0; i < 3; ++i) first->Count(absl::StatusCode::kOk, 0);
  first->Count(absl::StatusCode::kInvalidArgument, 0);
  first->CountAbstention();
  first->ObservePropensity(0.15);
  first->ObserveEntropy(0.3);
  status::v1::Model model;
  model.set_name("m");
  const MetricSamples now = metrics_.Read();
  const SamplesByModel samples = GroupByModel(now);
  EXPECT_EQ(samples.at("m").decisions, 4);
  AddTraffic(now, {&before, 2}, samples.at("m"), &model);
  ASSERT_THAT(model.traffic(), SizeIs(2));
  EXPECT_EQ(model.traffic(0).version(), 10u);
  EXPECT_EQ(model.traffic(0).decisions(), 0u);
  const status::v1::Traffic& traffic = model.traffic(1);
  EXPECT_EQ(traffic.version(), 9u);
  EXPECT_EQ(traffic.decisions(), 4u);
  EXPECT_EQ(traffic.abstentions(), 1u);
  EXPECT_EQ(traffic.decisions_per_second(), 1.5);
  // (0.1, 0.2] is the seventh bin.
  EXPECT_EQ(traffic.propensities().bounds(6), 0.2);
  EXPECT_EQ(traffic.propensities().counts(6), 1u);
  EXPECT_EQ(traffic.entropies().counts(3), 1u);  // (0.25, 0.5]
}

TEST_F(TrafficFiguresTest, DriftIsTheLargestFirstAndBounded) {
  for (int i = 0; i < 30; ++i) {
    metrics_
        .Gauge("sortition_drift", "help",
               {{"model", "m"},
                {"version", "3"},
                {"kind", "column"},
                {"name", std::to_string(i)}})
        ->Set(i);
  }
  metrics_
      .Gauge("sortition_drift", "help",
             {{"model", "n"}, {"version", "3"}, {"kind", "k"}, {"name", "x"}})
      ->Set(99);
  status::v1::Model model;
  model.set_name("m");
  const MetricSamples now = metrics_.Read();
  AddDrift(GroupByModel(now).at("m"), &model);
  ASSERT_THAT(model.drift(), SizeIs(20));
  EXPECT_EQ(model.drift(0).name(), "29");
  EXPECT_EQ(model.drift(0).index(), 29);
  EXPECT_EQ(model.drift(0).version(), 3u);
  EXPECT_EQ(model.drift(19).index(), 10);
}

TEST_F(TrafficFiguresTest, SeriesAreThoseOfCallsThatCame) {
  const VersionCounterTable table(&metrics_);
  const auto counters = table.For("m", 4);
  Seconds("Select");
  Seconds("Rank")->Observe(0.005);
  Requests("Rank", "OK")->Increment();
  const MetricSamples before = metrics_.Read();
  for (int i = 0; i < 10; ++i) Seconds("Rank")->Observe(0.0005);
  Requests("Rank", "OK")->Increment(5);
  Requests("Rank", "INTERNAL")->Increment(5);
  counters->Count(absl::StatusCode::kOk, 0);
  HistorySample sample;
  AddTrafficSeries(metrics_.Read(), {&before, 5}, &sample);
  const MetricLabels rank = {{"method", "Rank"}};
  EXPECT_THAT(sample, SizeIs(5));
  EXPECT_EQ((sample[{"requests_per_second", rank, "1/s"}].value), 2);
  EXPECT_DOUBLE_EQ((sample[{"p50_seconds", rank, "s"}].value), 0.0005);
  EXPECT_DOUBLE_EQ((sample[{"p99_seconds", rank, "s"}].value), 0.00099);
  EXPECT_EQ((sample[{"refusals_per_second", {}, "1/s"}].value), 1);
  EXPECT_EQ((sample[{"decisions_per_second",
                     {{"model", "m"}, {"version", "4"}},
                     "1/s"}]
                 .value),
            0.2);
}

// By their labels versions 100 to 115 would come first.
TEST_F(TrafficFiguresTest, SeriesAreThoseOfTheBusiestVersions) {
  const VersionCounterTable table(&metrics_);
  std::vector<std::shared_ptr<const VersionCounters>> counters;
  for (uint64_t version = 100; version < 120; ++version) {
    counters.push_back(table.For("m", version));
    counters.back()->Count(absl::StatusCode::kOk, 0);
  }
  const MetricSamples before = metrics_.Read();
  for (size_t i = 4; i < 20; ++i) counters[i]->Count(absl::StatusCode::kOk, 0);
  HistorySample sample;
  AddTrafficSeries(metrics_.Read(), {&before, 5}, &sample);
  const auto has = [&sample](int version) {
    return sample.contains(
        {"decisions_per_second",
         {{"model", "m"}, {"version", std::to_string(version)}},
         "1/s"});
  };
  EXPECT_FALSE(has(103));
  EXPECT_TRUE(has(104));
  EXPECT_TRUE(has(119));
  EXPECT_THAT(sample, SizeIs(17));  // And that of refusals.
}

}  // namespace
}  // namespace sortition
