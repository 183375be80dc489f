#include "process/status/history.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::NanSensitiveDoubleEq;
using testing::SizeIs;

status::v1::History Parse(const History& history) {
  status::v1::History parsed;
  const auto status =
      google::protobuf::util::JsonStringToMessage(history.Json(), &parsed);
  EXPECT_TRUE(status.ok()) << status.ToString() << history.Json();
  return parsed;
}

HistorySample Of(const std::string& name, double value) {
  HistorySample sample;
  sample[{name}] = {.value = value};
  return sample;
}

TEST(HistoryTest, RingWrapsAndStaysInTheOrderOfTime) {
  History history(3, 10);
  EXPECT_THAT(Parse(history).times_us(), IsEmpty());
  for (int i = 1; i <= 5; ++i) history.Add(10 * i, 10 * i, Of("a", i));
  const status::v1::History parsed = Parse(history);
  EXPECT_THAT(parsed.times_us(), ElementsAre(30, 40, 50));
  ASSERT_THAT(parsed.series(), SizeIs(1));
  EXPECT_EQ(parsed.series(0).name(), "a");
  EXPECT_EQ(parsed.series(0).unit(), "1");
  EXPECT_THAT(parsed.series(0).values(), ElementsAre(3, 4, 5));
  EXPECT_THAT(parsed.series(0).lower(), IsEmpty());
}

TEST(HistoryTest, WhatASampleLacksIsUnknown) {
  History history(4, 10);
  history.Add(1, 1, Of("a", 1));
  HistorySample with_bounds = Of("b", 2);
  with_bounds[{"b"}].lower = 1.5;
  with_bounds[{"b"}].upper = 2.5;
  history.Add(2, 2, with_bounds);
  history.Add(3, 3, {});
  const status::v1::History parsed = Parse(history);
  ASSERT_THAT(parsed.series(), SizeIs(2));
  const auto nan = NanSensitiveDoubleEq(std::nan(""));
  EXPECT_THAT(parsed.series(0).values(), ElementsAre(1, nan, nan));
  EXPECT_THAT(parsed.series(1).values(), ElementsAre(nan, 2, nan));
  EXPECT_THAT(parsed.series(1).lower(), ElementsAre(nan, 1.5, nan));
  EXPECT_THAT(parsed.series(1).upper(), ElementsAre(nan, 2.5, nan));
}

TEST(HistoryTest, ASeriesGoesWithItsLastKnownValue) {
  History history(2, 10);
  history.Add(1, 1, Of("a", 1));
  history.Add(2, 2, Of("b", 1));
  EXPECT_EQ(history.num_series(), 2u);
  history.Add(3, 3, Of("b", 1));  // In the place of the only value of "a".
  EXPECT_EQ(history.num_series(), 1u);
}

TEST(HistoryTest, SeriesAreBounded) {
  History history(2, 3);
  for (int i = 0; i < 9; ++i) history.Add(i, i, Of(absl::StrCat("s", i), 1));
  EXPECT_EQ(history.num_series(), 2u);  // Others had no place in the ring.
  HistorySample many;
  for (int i = 0; i < 9; ++i) many[{absl::StrCat("t", i)}] = {.value = 1};
  history.Add(10, 10, many);
  EXPECT_EQ(history.num_series(), 3u);
  // Those that are there go on.
  history.Add(11, 11, many);
  EXPECT_EQ(history.num_series(), 3u);
}

TEST(HistoryTest, LabelsTellSeriesApartAndAreEscaped) {
  History history(2, 10);
  HistorySample sample;
  sample[{"n", {{"model", "a\"b"}}, "1/s"}] = {.value = 1e-5};
  sample[{"n", {{"model", "c"}}, "1/s"}] = {.value = 123456};
  history.Add(1, 1, sample);
  const status::v1::History parsed = Parse(history);
  ASSERT_THAT(parsed.series(), SizeIs(2));
  EXPECT_EQ(parsed.series(0).labels().at("model"), "a\"b");
  EXPECT_EQ(parsed.series(0).unit(), "1/s");
  EXPECT_THAT(parsed.series(0).values(), ElementsAre(1e-5));
  EXPECT_THAT(parsed.series(1).values(), ElementsAre(123500));  // Four digits.
}

TEST(HistoryTest, ASampleIsDueAfterFiveSeconds) {
  History history;
  EXPECT_TRUE(history.IsDue(0));
  history.Add(1'000'000, 77, {});
  EXPECT_FALSE(history.IsDue(1'000'000));
  EXPECT_FALSE(history.IsDue(5'999'999));
  EXPECT_TRUE(history.IsDue(6'000'000));
}

// A machine that starts in 1970, learns what time it is, and is then set back.
TEST(HistoryTest, TimesAscendAlsoWhereTheClockWasSet) {
  constexpr int64_t kNow = 1'800'000'000'000'000;
  History history;
  history.Add(100, 5, Of("a", 1));
  history.Add(110, kNow, Of("a", 2));
  EXPECT_THAT(Parse(history).times_us(), ElementsAre(kNow - 10, kNow));
  history.Add(120, kNow - 1000, Of("a", 3));
  EXPECT_THAT(Parse(history).times_us(),
              ElementsAre(kNow - 1020, kNow - 1010, kNow - 1000));
  EXPECT_THAT(Parse(history).series(0).values(), ElementsAre(1, 2, 3));
}

TEST(HistoryTest, SamplesOlderThanAnHourAreLeftOut) {
  constexpr int64_t kHour = 3'600'000'000;
  History history;
  history.Add(0, 0, Of("a", 1));
  history.Add(1, 1, Of("a", 2));
  history.Add(kHour + 1, kHour + 1, Of("a", 3));
  const status::v1::History parsed = Parse(history);
  EXPECT_THAT(parsed.times_us(), ElementsAre(1, kHour + 1));
  EXPECT_THAT(parsed.series(0).values(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace sortition
