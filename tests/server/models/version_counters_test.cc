#include "server/models/version_counters.h"

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(VersionCountersTest, CountAnswersByCodeAndTime) {
  Metrics metrics;
  const VersionCounterTable table(&metrics);
  const auto counters = table.For("default", 7);
  counters->Count(absl::StatusCode::kOk, 0.25);
  counters->Count(absl::StatusCode::kOk, 0.25);
  counters->Count(absl::StatusCode::kUnavailable, 1);
  counters->Count(absl::StatusCode::kInternal, 0);
  counters->Count(absl::StatusCode::kDataLoss, 0);
  EXPECT_THAT(
      metrics.Text(),
      AllOf(HasSubstr("sortition_version_answers_total{code=\"OK\",model="
                      "\"default\",version=\"7\"} 2\n"),
            HasSubstr("{code=\"UNAVAILABLE\",model=\"default\",version=\"7\"} "
                      "1\n"),
            HasSubstr("{code=\"OTHER\",model=\"default\",version=\"7\"} 2\n"),
            HasSubstr("sortition_version_seconds_total{model=\"default\","
                      "version=\"7\"} 1.5\n")));
}

TEST(VersionCountersTest, KeepPropensitiesAndEntropiesApartByVersion) {
  Metrics metrics;
  const VersionCounterTable table(&metrics);
  const auto counters = table.For("default", 7);
  const auto others = table.For("default", 8);
  counters->CountAbstention();
  counters->ObservePropensity(0.25);
  counters->ObserveEntropy(1.5);
  others->ObservePropensity(0.95);
  EXPECT_THAT(
      metrics.Text(),
      AllOf(HasSubstr("sortition_version_abstentions_total{model=\"default\","
                      "version=\"7\"} 1\n"),
            HasSubstr("sortition_version_propensity_sum{model=\"default\","
                      "version=\"7\"} 0.25\n"),
            HasSubstr("sortition_version_propensity_sum{model=\"default\","
                      "version=\"8\"} 0.95\n"),
            HasSubstr("sortition_version_entropy_nats_sum{model=\"default\","
                      "version=\"7\"} 1.5\n")));
}

TEST(VersionCountersTest, LeaveWithTheirLastHolder) {
  Metrics metrics;
  std::optional<VersionCounterTable> table(&metrics);
  auto first = table->For("default", 7);
  auto second = table->For("default", 7);
  EXPECT_EQ(first, second);
  auto other = table->For("default", 8);
  first->Count(absl::StatusCode::kOk, 1);
  first.reset();
  EXPECT_THAT(metrics.Text(), HasSubstr("version=\"7\""));
  second.reset();
  EXPECT_THAT(metrics.Text(), AllOf(Not(HasSubstr("version=\"7\"")),
                                    HasSubstr("version=\"8\"")));
  // It begins again.
  first = table->For("default", 7);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("{code=\"OK\",model=\"default\",version=\"7\"} 0\n"));
  // A request may hold them for longer than the table lives.
  table.reset();
  first->Count(absl::StatusCode::kOk, 1);
  first.reset();
  other.reset();
}

TEST(VersionCountersTest, MayBeTakenAndLeftByManyAtOnce) {
  Metrics metrics;
  const VersionCounterTable table(&metrics);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        table.For("default", static_cast<uint64_t>(i % 3))
            ->Count(absl::StatusCode::kOk, 1e-3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("sortition_version_answers")));
}

// A server ends its metrics before what still serves.
TEST(VersionCountersTest, ADetachedTableOutlivesTheMetrics) {
  auto metrics = std::make_unique<Metrics>();
  const VersionCounterTable table(metrics.get());
  auto held = table.For("m", 3);
  table.Detach();
  held->Count(absl::StatusCode::kOk, 1);
  held->ObservePropensity(1);
  EXPECT_THAT(metrics->Text(), testing::HasSubstr("version=\"3\""));
  metrics.reset();
  held.reset();
  const auto uncounted = table.For("m", 4);
  uncounted->Count(absl::StatusCode::kOk, 1);
  uncounted->CountAbstention();
  uncounted->ObservePropensity(1);
  uncounted->ObserveEntropy(1);
}

}  // namespace
}  // namespace sortition
