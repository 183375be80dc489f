#include "io/text/timestamp.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// 2026-04-01 10:00:00 UTC: 20544 days of 86400 s, and 36000 s.
constexpr int64_t kTime = (20544 * int64_t{86400} + 36000) * 1000000;

int64_t Read(const TimestampReader& reader, absl::string_view text,
             bool is_zone_assumed) {
  const auto time = reader.Parse(text, "time");
  EXPECT_OK(time) << text;
  if (!time.ok()) return 0;
  EXPECT_EQ(time->is_zone_assumed, is_zone_assumed) << text;
  return time->time_us;
}

TEST(TimestampTest, ATimeThatStatesItsZoneIgnoresTheOption) {
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       TimestampReader::Create("Fixed/UTC+05:00:00", "us"));
  for (const char* text :
       {"2026-04-01T10:00:00Z", "2026-04-01 10:00:00Z",
        "2026-04-01T12:00:00+02:00", "2026-04-01 12:00:00.000+0200",
        "2026-04-01 12:00:00 +02:00", "2026-04-01T10:00:00.0000000Z"}) {
    EXPECT_EQ(Read(reader, text, false), kTime) << text;
  }
}

TEST(TimestampTest, ATimeWithoutAZoneIsInThatOfTheOption) {
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       TimestampReader::Create("Fixed/UTC+05:00:00", "us"));
  for (const char* text : {"2026-04-01T15:00:00", "2026-04-01 15:00:00",
                           "2026-04-01 15:00", "2026-04-01T15:00"}) {
    EXPECT_EQ(Read(reader, text, true), kTime) << text;
  }
  EXPECT_EQ(Read(TimestampReader(), "2026-04-01 10:00:00.25", true),
            kTime + 250000);
  EXPECT_EQ(Read(TimestampReader(), "2026-04-01", true),
            kTime - int64_t{36000} * 1000000);
}

TEST(TimestampTest, NumbersAreInTheUnitOfTheOption) {
  for (const auto& [unit, text] :
       {std::pair{"s", "1775037600"}, std::pair{"s", "1775037600.0"},
        std::pair{"ms", "1775037600000"}, std::pair{"us", "1775037600000000"},
        std::pair{"ns", "1775037600000000000"}}) {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         TimestampReader::Create("UTC", unit));
    EXPECT_EQ(Read(reader, text, false), kTime) << unit;
  }
}

TEST(TimestampTest, OtherTextIsRefused) {
  for (const char* text : {"", "yesterday", "01.04.2026", "04/01/2026",
                           "infinite-future", "nan", "2026-13-01", "1e300"}) {
    EXPECT_FALSE(TimestampReader().Parse(text, "time").ok()) << text;
  }
  ASSERT_OK_AND_ASSIGN(const auto seconds, TimestampReader::Create("UTC", "s"));
  EXPECT_THAT(seconds.Parse("9223372036855", "time").status(),
              IsInvalidArgument("time is '9223372036855', must be in"));
  EXPECT_THAT(TimestampReader::Create("Mars/Olympus", "s").status(),
              IsInvalidArgument("--time_zone is 'Mars/Olympus', must be UTC"));
  EXPECT_THAT(TimestampReader::Create("UTC", "h").status(),
              IsInvalidArgument("--time_unit is 'h', must be s, ms, us or ns"));
}

}  // namespace
}  // namespace sortition
