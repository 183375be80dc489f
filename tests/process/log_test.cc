#include "process/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(LogTest, WritesOneJsonObjectPerLine) {
  CaptureLog();
  LogWarning("model rejected", {{"model", "m"}, {"version", "3"}});
  EXPECT_THAT(
      CapturedLog(),
      MatchesRegex("\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9:]+\\.[0-9]+Z\","
                   "\"level\":\"warning\",\"message\":\"model rejected\","
                   "\"model\":\"m\",\"version\":\"3\"\\}\n"));
}

TEST(LogTest, WritesNumbersAndTruthValuesWithoutQuotes) {
  constexpr uint64_t kLargest = 18446744073709551615u;
  constexpr int64_t kSmallest = -9223372036854775807 - 1;
  CaptureLog();
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
  EXPECT_THAT(CapturedLog(),
              EndsWith("\"bytes\":571,\"port\":8500,"
                       "\"most\":18446744073709551615,"
                       "\"least\":-9223372036854775808,\"small\":7,"
                       "\"seconds\":0.25,\"float\":0.5,\"none\":null,"
                       "\"read\":true,\"drained\":false,"
                       "\"text\":\"571\",\"view\":\"true\"}\n"));
}

TEST(LogTest, EscapesWhatJsonForbids) {
  CaptureLog();
  LogError("a\"b\\c\nd\x01", {{"k", "t\tü"}});
  EXPECT_THAT(
      CapturedLog(),
      EndsWith("\"level\":\"error\",\"message\":\"a\\\"b\\\\c\\nd\\u0001\""
               ",\"k\":\"t\\tü\"}\n"));
}

TEST(LogTest, LinesOfThreadsDoNotMix) {
  CaptureLog();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 100; ++k) LogInfo(std::string(200, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = CapturedLog();
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size(); ++lines) {
    const size_t end = text.find('\n', begin);
    ASSERT_EQ(text.substr(begin, 9), "{\"time\":\"");
    ASSERT_EQ(text.substr(end - 2, 2), "\"}");
    begin = end + 1;
  }
  EXPECT_EQ(lines, 400u);
}

TEST(LogTest, LongTextsAreCut) {
  CaptureLog();
  LogInfo(std::string(3000, 'm'), {{"text", std::string(1 << 20, 'x')}});
  EXPECT_THAT(CapturedLog(),
              HasSubstr(absl::StrCat("\"message\":\"", std::string(2048, 'm'),
                                     " ...\",\"text\":\"",
                                     std::string(2048, 'x'), " ...\"}\n")));
}

// Each field has 2,052 characters and more; the eighth exceeds 16 KiB.
TEST(LogTest, LongLinesAreCut) {
  const std::string text(4000, 'x');
  CaptureLog();
  LogInfo("m", {{"a", text},
                {"b", text},
                {"c", text},
                {"d", text},
                {"e", text},
                {"f", text},
                {"g", text},
                {"h", text},
                {"i", text},
                {"j", 1}});
  const std::string line = CapturedLog();
  EXPECT_THAT(line, HasSubstr("\"h\":\"x"));
  EXPECT_THAT(line, Not(HasSubstr("\"i\":")));
  EXPECT_THAT(line, EndsWith(",\"fields_left_out\":2}\n"));
}

TEST(LogTest, LessSevereLinesAreNotWritten) {
  CaptureLog();
  SetLogLevel(LogLevel::kError);
  LogInfo("not written");
  LogWarning("not written either");
  LogError("written");
  SetLogLevel(LogLevel::kInfo);
  EXPECT_THAT(CapturedLog(),
              AllOf(HasSubstr("\"written\""), Not(HasSubstr("not"))));
}

// Standard error is a pipe that is full: threads that log do not wait, and what
// does not fit into the queue is dropped and counted.
TEST(LogTest, LinesAreDroppedIfTheReaderHasStopped) {
  constexpr uint64_t kLines = 4000;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const std::string filling(1 << 20, '\n');
  while (::write(ends[1], filling.data(), filling.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // Now writes block.
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, 0), 0);
  ASSERT_TRUE(FlushLog(Patience(60)));
  const uint64_t dropped_before = NumLogLinesDropped();
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  const std::string text(1000, 'x');
  for (uint64_t i = 0; i < kLines; ++i) LogInfo("line", {{"text", text}});
  const uint64_t dropped = NumLogLinesDropped() - dropped_before;
  // A mebibyte of lines of more than 1,000 bytes is kept.
  EXPECT_GT(dropped, kLines - kMaxQueuedLogBytes / 1000);
  EXPECT_LT(dropped, kLines);
  EXPECT_FALSE(FlushLog(0)) << "nothing can be written";

  std::string written;
  std::thread reader([&] {
    std::string bytes(1 << 16, '\0');
    ssize_t size = 0;
    while ((size = ::read(ends[0], bytes.data(), bytes.size())) > 0) {
      written.append(bytes, 0, static_cast<size_t>(size));
    }
  });
  EXPECT_TRUE(FlushLog(Patience(60)));
  LogInfo("last");
  EXPECT_TRUE(FlushLog(Patience(60)));
  ::dup2(before, STDERR_FILENO);
  for (const int fd : {before, ends[1]}) ::close(fd);
  reader.join();
  ::close(ends[0]);
  uint64_t num_lines = 0;
  uint64_t num_last = 0;
  uint64_t lost = 0;
  for (const absl::string_view line : absl::StrSplit(written, '\n')) {
    if (absl::StrContains(line, "\"message\":\"line\"")) ++num_lines;
    if (absl::StrContains(line, "\"message\":\"last\"")) ++num_last;
    const size_t found = line.find("\"lines_lost\":");
    if (found == line.npos) continue;
    uint64_t count = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        absl::StripSuffix(line.substr(found + 13), "}"), &count));
    lost += count;
  }
  EXPECT_EQ(num_lines, kLines - dropped);
  EXPECT_EQ(lost, dropped);
  EXPECT_EQ(num_last, 1u);
}

}  // namespace
}  // namespace sortition
