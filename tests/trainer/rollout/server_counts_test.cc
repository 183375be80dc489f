#include "trainer/rollout/server_counts.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/metrics.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::Rollout;
using model::v1::VersionCount;
using testing::HasSubstr;

Rollout NewRollout() {
  Rollout rollout;
  rollout.set_canary_version(8);
  rollout.set_stable_version(7);
  return rollout;
}

VersionCount Count(double answers, double errors, double seconds = 1) {
  VersionCount count;
  count.set_answers(answers);
  count.set_errors(errors);
  count.set_seconds(seconds);
  return count;
}

TEST(ServerCountsTest, ReadsWhatTheMetricsOfAServerSay) {
  Metrics metrics;
  const auto counter = [&](const std::string& model, const std::string& version,
                           const std::string& code) {
    return metrics.Counter(
        "sortition_version_answers_total", "help",
        {{"model", model}, {"version", version}, {"code", code}});
  };
  counter("default", "7", "OK")->Increment(1000000);
  counter("default", "7", "UNAVAILABLE")->Increment(3);
  counter("default", "7", "OTHER")->Increment(2);
  counter("default", "8", "OK")->Increment(5);
  counter("another", "8", "OK")->Increment(70);
  metrics
      .Counter("sortition_version_seconds_total", "help",
               {{"model", "default"}, {"version", "7"}})
      ->Increment(12.5);
  auto counts = ParseVersionCounts(metrics.Text(), "default");
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[7].answers(), 1000005);
  EXPECT_EQ(counts[7].errors(), 5);
  EXPECT_EQ(counts[7].seconds(), 12.5);
  EXPECT_EQ(counts[8].answers(), 5);
  EXPECT_EQ(counts[8].errors(), 0);
}

TEST(ServerCountsTest, PassesOverWhatItDoesNotKnow) {
  EXPECT_TRUE(ParseVersionCounts("", "default").empty());
  EXPECT_TRUE(
      ParseVersionCounts("sortition_version_answers_total 7\n"
                         "sortition_version_answers_total{model=\"default\"\n"
                         "sortition_version_answers_total}{ 1\n"
                         "sortition_version_answers_total{model=\"default\","
                         "version=\"x\",code=\"OK\"} 1\n"
                         "sortition_version_answers_total{model=\"default\","
                         "version=\"1\",code=\"OK\"} NaN\n",
                         "default")
          .empty());
}

TEST(ServerCountsTest, CountsWhatIsNewOfEachServer) {
  Rollout rollout = NewRollout();
  AddServerCounts("a", {{7, Count(100, 10)}}, &rollout);  // Not of the stage.
  AddServerCounts("b", {{7, Count(50, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 0);
  AddServerCounts("a", {{7, Count(130, 11)}, {8, Count(4, 1)}}, &rollout);
  AddServerCounts("b", {{7, Count(60, 0)}, {9, Count(5, 5)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 40);
  EXPECT_EQ(rollout.stable().errors(), 1);
  EXPECT_EQ(rollout.canary().answers(), 4);
  EXPECT_EQ(rollout.canary().errors(), 1);
  // Server a has started again and has answered 7 since.
  AddServerCounts("a", {{7, Count(7, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 47);
  BeginStageCounts(&rollout);
  AddServerCounts("a", {{7, Count(9, 0)}}, &rollout);
  EXPECT_EQ(rollout.stable().answers(), 2);
}

Rollout WithCounts(const VersionCount& canary, const VersionCount& stable,
                   uint64_t looks = 1) {
  Rollout rollout = NewRollout();
  *rollout.mutable_canary() = canary;
  *rollout.mutable_stable() = stable;
  rollout.set_looks(looks);
  return rollout;
}

TEST(ServerCountsTest, ErrorsCountIfTheyAreSurelyMoreThanAllowed) {
  const config::v1::RolloutPlan plan;
  EXPECT_FALSE(JudgeServers(plan, NewRollout()).is_known);
  const auto harm = [&](const Rollout& rollout) {
    return JudgeServers(plan, rollout).harm.value_or("");
  };
  EXPECT_EQ(harm(WithCounts(Count(1000, 10), Count(1000, 10))), "");
  // 1 % more is allowed, and 2 of 100 may be chance.
  EXPECT_EQ(harm(WithCounts(Count(100, 2), Count(10000, 0))), "");
  EXPECT_EQ(harm(WithCounts(Count(100000, 1000), Count(100000, 0))), "");
  EXPECT_THAT(harm(WithCounts(Count(100000, 1200), Count(100000, 0))),
              HasSubstr("errors in 1.2 % (1200 of 100000), those of version 7 "
                        "in 0 %"));
  // The same after many looks is not sure any more: each has less to spend.
  const VersionCount few = Count(100, 9);
  EXPECT_NE(harm(WithCounts(few, Count(10000, 0), 1)), "");
  EXPECT_EQ(harm(WithCounts(few, Count(10000, 0), 1000)), "");
}

TEST(ServerCountsTest, TimesAreComparedOnceThereAreEnough) {
  config::v1::RolloutPlan plan;
  plan.set_latency_ratio(2);
  const auto harm = [&](const Rollout& rollout) {
    return JudgeServers(plan, rollout).harm.value_or("");
  };
  EXPECT_EQ(harm(WithCounts(Count(999, 0, 9.99), Count(9999, 0, 9.999))), "");
  EXPECT_THAT(harm(WithCounts(Count(1000, 0, 10), Count(10000, 0, 10))),
              HasSubstr("take 10 ms, those of version 7 1 ms, and 2 times"));
  EXPECT_EQ(harm(WithCounts(Count(1000, 0, 1.99), Count(10000, 0, 10))), "");
  plan.set_latency_ratio(0);
  EXPECT_EQ(harm(WithCounts(Count(1000, 0, 10), Count(10000, 0, 10))), "");
}

// Half of the counters would look like a server that was started anew.
TEST(ServerCountsTest, AnAnswerThatEndsTooEarlyCountsNothing) {
  HostilePeer server([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(
        fd,
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        "sortition_version_answers_total{model=\"m\",version=\"7\"} 1\n");
  });
  EXPECT_THAT(
      FetchServerCounts(server.address(), "m").status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr(server.address())));
}

}  // namespace
}  // namespace sortition
