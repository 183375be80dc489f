#include "process/options/units.h"

#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/options/options.h"
#include "sortition/config/v1/server.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using config::v1::ServerOptions;
using testing::AllOf;
using testing::HasSubstr;

TEST(UnitsTest, SizesAreExact) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"571", 571},
      {"571B", 571},
      {"0", 0},
      {"1GB", 1000000000},
      {"1GiB", uint64_t{1} << 30},
      {"64MiB", uint64_t{64} << 20},
      {"1.5GB", 1500000000},
      {"0.5KiB", 512},
      {"1kB", 1000},
      {"1KB", 1000},
      {"3TiB", uint64_t{3} << 40},
      {"2TB", 2000000000000},
      {"1e6", 1000000},
      {"9007199254740993", 9007199254740993},
      {"18446744073709551615", std::numeric_limits<uint64_t>::max()}};
  for (const auto& [text, bytes] : cases) {
    ASSERT_OK_AND_ASSIGN(const uint64_t parsed, ParseBytes(text));
    EXPECT_EQ(parsed, bytes) << text;
  }
}

TEST(UnitsTest, DurationsAreWhatTheNumberDividedOrTimesTheUnitIs) {
  const std::pair<const char*, double> cases[] = {
      {"10m", 600},   {"1.5h", 5400}, {"250ms", 0.25}, {"3ms", 0.003},
      {"7d", 604800}, {"10s", 10},    {"0.25", 0.25},  {"-1", -1},
      {"1e9", 1e9},   {"0", 0},       {".5s", 0.5}};
  for (const auto& [text, seconds] : cases) {
    ASSERT_OK_AND_ASSIGN(const double parsed, ParseSeconds(text));
    EXPECT_EQ(parsed, seconds) << text;
  }
}

TEST(UnitsTest, OtherFormsAreRefused) {
  for (const char* text :
       {"", "GB", "1 GB", "1gb", "1M", "1m", "0.3B", "-1", "-1B", "1GBx",
        "1.5.5MB", "inf", "nan", "0x10", "18446744073709551616",
        "17179869184GiB", "9007199254740993.5", "1e30"}) {
    EXPECT_THAT(ParseBytes(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("64MiB")))
        << text;
  }
  for (const char* text : {"", "s", "1 s", "1M", "1H", "1min", "1sec", "inf",
                           "nan", "1e999", "0x10", "1hh", "1MiB"}) {
    EXPECT_THAT(ParseSeconds(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("1.5h")))
        << text;
  }
}

TEST(UnitsTest, TextIsReadBackExactly) {
  EXPECT_EQ(BytesText(uint64_t{1} << 30), "1GiB");
  EXPECT_EQ(BytesText(1536), "1536");
  EXPECT_EQ(BytesText(uint64_t{3} << 19), "1536KiB");
  EXPECT_EQ(BytesText(1500000000), "1500MB");
  EXPECT_EQ(BytesText(571), "571");
  EXPECT_EQ(BytesText(0), "0");
  for (uint64_t bytes = 1; bytes < (uint64_t{1} << 60); bytes = bytes * 7 + 4) {
    ASSERT_OK_AND_ASSIGN(const uint64_t parsed, ParseBytes(BytesText(bytes)));
    EXPECT_EQ(parsed, bytes);
  }
  EXPECT_EQ(SecondsText(600), "10m");
  EXPECT_EQ(SecondsText(5400), "90m");
  EXPECT_EQ(SecondsText(86400), "1d");
  EXPECT_EQ(SecondsText(0.25), "250ms");
  EXPECT_EQ(SecondsText(1.5), "1.5s");
  EXPECT_EQ(SecondsText(0), "0s");
  EXPECT_EQ(SecondsText(-1), "-1s");
  for (const double seconds : {0.003, 0.0005, 1e9, 150.0, 59.9, 0.2, 1e-9}) {
    ASSERT_OK_AND_ASSIGN(const double parsed,
                         ParseSeconds(SecondsText(seconds)));
    EXPECT_EQ(parsed, seconds);
  }
}

absl::Status ParseServer(const std::string& flag, ServerOptions* options) {
  CommandLine command_line;
  return ParseOptions({"--model_store=/store", flag}, options, &command_line);
}

TEST(UnitsTest, OptionsThatEndInBytesOrSecondsTakeThem) {
  ServerOptions options;
  ASSERT_OK(ParseServer("--spool.max_bytes=1.5GiB", &options));
  EXPECT_EQ(options.spool().max_bytes(), uint64_t{3} << 29);
  ASSERT_OK(ParseServer("--max_message_bytes=1MB", &options));
  EXPECT_EQ(options.limits().max_message_bytes(), 1000000u);
  ASSERT_OK(ParseServer("--drain_seconds=1.5m", &options));
  EXPECT_EQ(options.drain_seconds(), 90);
  ASSERT_OK(ParseServer("--poll_seconds=250ms", &options));
  EXPECT_EQ(options.poll_seconds(), 0.25);
}

TEST(UnitsTest, ErrorsOfOptionsNameFieldValueAndForms) {
  ServerOptions options;
  EXPECT_THAT(ParseServer("--spool.max_bytes=1m", &options),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--spool.max_bytes"), HasSubstr("1m"),
                             HasSubstr("64MiB"))));
  EXPECT_THAT(ParseServer("--drain_seconds=1GB", &options),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--drain_seconds"), HasSubstr("1GB"),
                             HasSubstr("1.5h"), HasSubstr("[0, 3600]"))));
  // 32 bits.
  EXPECT_THAT(
      ParseServer("--max_message_bytes=4GiB", &options),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("max_message_bytes"), HasSubstr("4GiB"))));
  // Units belong to sizes and durations alone, and ranges still hold.
  EXPECT_THAT(
      ParseServer("--max_candidates=1kB", &options),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("a whole number")));
  EXPECT_THAT(ParseServer("--drain_seconds=2h", &options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("drain_seconds = 7200")));
}

TEST(UnitsTest, HelpWritesDefaultsAndRangesWithUnits) {
  const std::string help = OptionsHelp(ServerOptions::descriptor());
  EXPECT_THAT(help, HasSubstr("--spool.max_bytes=SIZE"));
  EXPECT_THAT(help, HasSubstr("default 10GiB"));
  EXPECT_THAT(help, HasSubstr("--drain_seconds=TIME"));
  EXPECT_THAT(help, HasSubstr("default 10s"));
  EXPECT_THAT(help, HasSubstr("64MiB"));
  EXPECT_THAT(help, HasSubstr("1.5h"));
}

}  // namespace
}  // namespace sortition
