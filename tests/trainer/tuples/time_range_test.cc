#include "trainer/tuples/scan/time_range.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/status_codes.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1000000;
constexpr int64_t kDay = 86400 * kSecond;
// 2026-11-23 12:00 UTC: 20780 days and a half.
constexpr int64_t kNewest = 20780 * kDay + kDay / 2;

TEST(TimeRangeTest, ReadsTimesDatesAndAges) {
  ASSERT_OK_AND_ASSIGN(const TimeRange all, ParseTimeRange("", "", 0));
  EXPECT_FALSE(all.since_us.has_value());
  EXPECT_TRUE(all.Contains(INT64_MIN));
  EXPECT_TRUE(all.Contains(INT64_MAX));
  ASSERT_OK_AND_ASSIGN(
      const TimeRange dates,
      ParseTimeRange("2026-11-22", "2026-11-23T02:00:00+02:00", 0));
  EXPECT_EQ(dates.since_us, 20779 * kDay);
  EXPECT_EQ(dates.until_us, 20780 * kDay);
  EXPECT_FALSE(dates.Contains(20779 * kDay - 1));
  EXPECT_TRUE(dates.Contains(20779 * kDay));
  EXPECT_TRUE(dates.Contains(20780 * kDay - 1));
  EXPECT_FALSE(dates.Contains(20780 * kDay));
  ASSERT_OK_AND_ASSIGN(const TimeRange ages,
                       ParseTimeRange("1.5d", "36m", kNewest));
  EXPECT_EQ(ages.since_us, 20779 * kDay);
  EXPECT_EQ(ages.until_us, kNewest - 36 * 60 * kSecond);
}

TEST(TimeRangeTest, KnowsAges) {
  for (const char* age : {"1s", "90m", "36h", "7d", "2w", "0.5d"}) {
    EXPECT_TRUE(IsAge(age)) << age;
  }
  for (const char* other : {"", "d", "7", "-7d", "7x", "2026-11-23", "1d2d"}) {
    EXPECT_FALSE(IsAge(other)) << other;
  }
  EXPECT_EQ(ParseAge("decay", "2w").value_or(0), 14 * kDay);
}

TEST(TimeRangeTest, KnowsWhatIsWrongWithoutTheNewest) {
  EXPECT_OK(ValidateTimes("", ""));
  // The newest decision may be older than any date.
  EXPECT_OK(ValidateTimes("7d", "2001-01-01"));
  EXPECT_OK(ValidateTimes("2101-01-01", "7d"));
  EXPECT_OK(ValidateTimes("7d", "1d"));
  for (const auto& [since, until] :
       {std::pair("1d", "7d"), std::pair("2026-11-02", "2026-11-01"),
        std::pair("x", "1d"), std::pair("", "0d")}) {
    EXPECT_THAT(ValidateTimes(since, until),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(TimeRangeTest, NamesWhatIsWrong) {
  for (const char* since :
       {"yesterday", "2026-13-01", "23.11.2026", "-1d", "infinite-past"}) {
    EXPECT_THAT(ParseTimeRange(since, "", kNewest),
                StatusIs(kInvalid, HasSubstr("since is '")))
        << since;
  }
  EXPECT_THAT(ParseTimeRange("", "0d", kNewest),
              StatusIs(kInvalid, HasSubstr("until is '0d', must be a number")));
  EXPECT_THAT(
      ParseTimeRange("7d", "", 0),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has a time")));
  EXPECT_THAT(ParseTimeRange("1d", "1d", kNewest),
              StatusIs(kInvalid, HasSubstr("must be after since, '1d'")));
  EXPECT_THAT(ParseAge("decay", "40000d"),
              StatusIs(kInvalid, HasSubstr("decay is '40000d', must be")));
}

}  // namespace
}  // namespace sortition
