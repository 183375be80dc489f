#include "process/log.h"

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

TEST(LogTest, WritesOneJsonObjectPerLine) {
  testing::internal::CaptureStderr();
  LogWarning("model rejected", {{"model", "m"}, {"version", "3"}});
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      MatchesRegex("\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9:]+\\.[0-9]+Z\","
                   "\"level\":\"warning\",\"message\":\"model rejected\","
                   "\"model\":\"m\",\"version\":\"3\"\\}\n"));
}

TEST(LogTest, WritesNumbersAndTruthValuesWithoutQuotes) {
  constexpr uint64_t kLargest = 18446744073709551615u;
  constexpr int64_t kSmallest = -9223372036854775807 - 1;
  testing::internal::CaptureStderr();
  LogInfo("m", {{"bytes", size_t{571}},
                {"port", 8500},
                {"most", kLargest},
                {"least", kSmallest},
                {"small", uint8_t{7}},
                {"seconds", 0.25},
                {"float", 0.5F},
                {"none", std::numeric_limits<double>::infinity()},
                {"read", true},
                {"drained", false},
                {"text", "571"},
                {"view", absl::string_view("true")}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              EndsWith("\"bytes\":571,\"port\":8500,"
                       "\"most\":18446744073709551615,"
                       "\"least\":-9223372036854775808,\"small\":7,"
                       "\"seconds\":0.25,\"float\":0.5,\"none\":null,"
                       "\"read\":true,\"drained\":false,"
                       "\"text\":\"571\",\"view\":\"true\"}\n"));
}

TEST(LogTest, EscapesWhatJsonForbids) {
  testing::internal::CaptureStderr();
  LogError("a\"b\\c\nd\x01", {{"k", "t\tü"}});
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      EndsWith("\"level\":\"error\",\"message\":\"a\\\"b\\\\c\\nd\\u0001\""
               ",\"k\":\"t\\tü\"}\n"));
}

TEST(LogTest, LinesOfThreadsDoNotMix) {
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 100; ++k) LogInfo(std::string(200, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = testing::internal::GetCapturedStderr();
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size(); ++lines) {
    const size_t end = text.find('\n', begin);
    ASSERT_EQ(text.substr(begin, 9), "{\"time\":\"");
    ASSERT_EQ(text.substr(end - 2, 2), "\"}");
    begin = end + 1;
  }
  EXPECT_EQ(lines, 400u);
}

}  // namespace
}  // namespace sortition
