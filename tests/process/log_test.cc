#include "process/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

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

// Standard error is a pipe that nobody reads.
TEST(LogTest, NobodyWaitsForAReaderThatDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const std::string filling(1 << 20, 'x');
  while (::write(ends[1], filling.data(), filling.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // Now it blocks.
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  for (int i = 0; i < 3; ++i) LogInfo("lost");
  std::string text(2 << 20, '\0');
  EXPECT_GT(::read(ends[0], text.data(), text.size()), 0);
  LogInfo("written", {{"key", 1}});
  LogInfo("next");
  text.resize(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0));
  ::dup2(before, STDERR_FILENO);
  for (const int fd : {before, ends[0], ends[1]}) ::close(fd);
  EXPECT_THAT(text, HasSubstr("\"message\":\"written\",\"key\":1,"
                              "\"lines_lost\":3}\n"));
  EXPECT_THAT(text, EndsWith("\"message\":\"next\"}\n"));
  EXPECT_THAT(text, Not(HasSubstr("\"lost\"")));
}

}  // namespace
}  // namespace sortition
