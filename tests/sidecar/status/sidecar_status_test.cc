#include "sidecar/status/sidecar_status.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kSecond = 1'000'000;

status::v1::Status Parse(const std::string& json) {
  status::v1::Status status;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json, &status);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString() << "\n" << json;
  return status;
}

std::string DecisionBytes() {
  log::v1::Decision decision;
  decision.set_decision_id("d");
  decision.set_model("m");
  decision.set_version(3);
  decision.set_log_propensity(std::log(0.5));
  return decision.SerializeAsString();
}

TEST(SidecarStatusTest, TellsWhatItWasTold) {
  const auto source = SidecarStatusSource::Create(7 * kSecond);
  log::v1::BanditTuple tuple;
  tuple.set_reward(0.75);
  source->AddTuple(tuple, DecisionBytes());
  status::v1::Sidecar figures;
  figures.set_pending(5);
  figures.set_tuples(100);
  figures.set_watermark_us(9 * kSecond);
  source->Update(figures, 10 * kSecond, kSecond);
  figures.set_tuples(130);
  source->Update(figures, 16 * kSecond, 7 * kSecond);
  const status::v1::Status status = Parse(source->Json());
  EXPECT_EQ(status.process().role(), "sidecar");
  EXPECT_EQ(status.sidecar().pending(), 5u);
  EXPECT_EQ(status.sidecar().since_us(), 7 * kSecond);
  EXPECT_EQ(status.sidecar().problem(), "");
  EXPECT_EQ(status.sidecar().worths(0).model(), "m");
  EXPECT_EQ(status.sidecar().worths(0).reward().value(), 0.75);
  EXPECT_THAT(status.history().times_us(),
              ElementsAre(10 * kSecond, 16 * kSecond));
  bool has_rate = false;
  for (const status::v1::Series& series : status.history().series()) {
    if (series.name() != "tuples_per_second") continue;
    has_rate = true;
    EXPECT_TRUE(std::isnan(series.values(0)));  // Nothing to compare with.
    EXPECT_EQ(series.values(1), 5);             // 30 in 6 s.
  }
  EXPECT_TRUE(has_rate);
}

TEST(SidecarStatusTest, SamplesAreFiveSecondsApart) {
  const auto source = SidecarStatusSource::Create(0);
  for (int i = 1; i <= 100; ++i) {
    const int64_t time_us = i * kSecond / 10;
    source->Update({}, time_us, time_us);
  }
  EXPECT_THAT(Parse(source->Json()).history().times_us(),
              ElementsAre(kSecond / 10, 51 * kSecond / 10));
}

// From 1970 to now is no hour, and no time in which tuples came.
TEST(SidecarStatusTest, AClockThatIsSetDoesNotHarmTheHistory) {
  constexpr int64_t kNow = 1'800'000'000 * kSecond;
  const auto source = SidecarStatusSource::Create(0);
  status::v1::Sidecar figures;
  source->Update(figures, kSecond, kSecond);
  figures.set_tuples(30);
  source->Update(figures, kNow, 7 * kSecond);
  const status::v1::Status status = Parse(source->Json());
  EXPECT_THAT(status.history().times_us(),
              ElementsAre(kNow - 6 * kSecond, kNow));
  for (const status::v1::Series& series : status.history().series()) {
    if (series.name() != "tuples_per_second") continue;
    EXPECT_EQ(series.values(1), 5);  // 30 in 6 s.
  }
}

TEST(SidecarStatusTest, LeavesTheHistoryOutWhereAsked) {
  const auto source = SidecarStatusSource::Create(0);
  source->Update({}, kSecond, kSecond);
  EXPECT_THAT(source->Json("history=0"), Not(HasSubstr("\"history\"")));
  EXPECT_THAT(source->Json(), HasSubstr("\"history\":{"));
}

}  // namespace
}  // namespace sortition
