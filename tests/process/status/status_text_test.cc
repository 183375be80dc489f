#include "process/status/status_text.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "process/log.h"
#include "process/status/history.h"
#include "process/status/sidecar_series.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(StatusTextTest, JsonReadsBackAsTheStatusWithItsHistory) {
  CaptureLog();
  LogWarning("bad \xff byte");
  CapturedLog();
  status::v1::Status status;
  SetProcess("server", 123, &status);
  History history;
  HistorySample sample;
  sample[{"pending"}] = {.value = 2};
  history.Add(5, 5, sample);
  const std::string json = WithHistory(StatusJson(status), history.Json());
  status::v1::Status parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok())
      << json;
  EXPECT_EQ(parsed.process().role(), "server");
  EXPECT_EQ(parsed.process().now_us(), 123);
  EXPECT_GT(parsed.process().resident_bytes(), 0u);
  EXPECT_EQ(parsed.warnings(0).message(), "bad ? byte");
  ASSERT_THAT(parsed.history().series(), SizeIs(1));
  EXPECT_EQ(parsed.history().series(0).values(0), 2);
  EXPECT_EQ(WithHistory("{}x", ""), "{}x");
}

TEST(StatusTextTest, JsonNamesFieldsAsTheProtoAndPrintsZeros) {
  status::v1::Status status;
  status.mutable_sidecar()->set_lag_bytes(0);
  const std::string json = StatusJson(status);
  EXPECT_THAT(json, HasSubstr("\"lag_bytes\":\"0\""));
  EXPECT_THAT(json, HasSubstr("\"sidecar_problem\":\"\""));
  EXPECT_THAT(json, Not(HasSubstr("\"server\"")));
}

TEST(StatusTextTest, QueriesMayLeaveTheHistoryOut) {
  EXPECT_TRUE(WantsHistory(""));
  EXPECT_TRUE(WantsHistory("history=1"));
  EXPECT_TRUE(WantsHistory("xhistory=0"));
  EXPECT_FALSE(WantsHistory("history=0"));
  EXPECT_FALSE(WantsHistory("a=b&history=0"));
}

TEST(StatusTextTest, TextsOfOthersAreCutAndValid) {
  EXPECT_EQ(ShownText("short"), "short");
  EXPECT_EQ(ShownText("bad \xff"), "bad ?");
  EXPECT_EQ(ShownText(std::string(1001, 'x')), std::string(1000, 'x') + " ...");
}

TEST(StatusTextTest, BeforeTheFirstTextItIsSaidSo) {
  EXPECT_THAT(JsonBeforeTheFirst("server", 1), HasSubstr("are being made"));
  EXPECT_THAT(JsonBeforeTheFirst("sidecar", 1), HasSubstr("are being made"));
}

TEST(StatusTextTest, SeriesOfASidecarHaveBoundsWhereThereIsAnInterval) {
  status::v1::Sidecar sidecar;
  sidecar.set_pending(3);
  sidecar.set_watermark_us(4'000'000);
  for (const bool has_interval : {false, true}) {
    status::v1::Worth& worth = *sidecar.add_worths();
    worth.set_model("m");
    worth.set_version(has_interval ? "2" : "1");
    worth.set_tuples(10);
    worth.mutable_reward()->set_value(0.5);
    worth.mutable_reward()->set_lower(0.25);
    worth.mutable_reward()->set_upper(0.75);
    worth.mutable_reward()->set_confidence(has_interval ? 0.95 : 0);
  }
  sidecar.add_worths()->set_version("no tuples: a shadow");
  HistorySample sample;
  AddSidecarSeries(sidecar, 6'500'000, &sample);
  EXPECT_THAT(sample, SizeIs(5));
  EXPECT_EQ((sample[{"pending"}].value), 3);
  EXPECT_EQ((sample[{"lag_seconds", {}, "s"}].value), 2.5);
  const SeriesId without = {"reward", {{"model", "m"}, {"version", "1"}}};
  const SeriesId with = {"reward", {{"model", "m"}, {"version", "2"}}};
  EXPECT_EQ(sample[without].value, 0.5);
  EXPECT_NE(sample[without].lower, sample[without].lower);  // NaN.
  EXPECT_EQ(sample[with].lower, 0.25);
  EXPECT_EQ(sample[with].upper, 0.75);
}

}  // namespace
}  // namespace sortition
