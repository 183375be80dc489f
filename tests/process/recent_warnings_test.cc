#include "process/recent_warnings.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::EndsWith;
using testing::Lt;
using testing::SizeIs;

TEST(RecentWarningsTest, KeepWarningsAndErrorsTheLatestFirst) {
  CaptureLog();
  LogWarning("first", {{"model", "m"}, {"count", 3}, {"ok", true}});
  LogInfo("of no concern");
  LogError("second");
  CapturedLog();
  const std::vector<RecentWarning> kept = RecentWarnings();
  ASSERT_GE(kept.size(), 2u);
  EXPECT_EQ(kept[0].level, "error");
  EXPECT_EQ(kept[0].message, "second");
  EXPECT_EQ(kept[0].details, "");
  EXPECT_EQ(kept[1].level, "warning");
  EXPECT_EQ(kept[1].message, "first");
  EXPECT_EQ(kept[1].details, "model=m count=3 ok=true");
  EXPECT_LE(kept[1].time_us, kept[0].time_us);
}

TEST(RecentWarningsTest, ForgetTheOldestAndCutTheLong) {
  CaptureLog();
  for (int i = 0; i < 70; ++i) LogWarning(absl::StrCat("line ", i));
  // Two bytes each: a cut at an odd place would break a letter.
  std::string umlauts = "x";
  for (int i = 0; i < 2000; ++i) umlauts += "ü";
  LogWarning(umlauts, {{"a", umlauts}, {"b", umlauts}});
  CapturedLog();
  const std::vector<RecentWarning> kept = RecentWarnings();
  ASSERT_THAT(kept, SizeIs(kKeptWarnings));
  EXPECT_EQ(kept[1].message, "line 69");
  EXPECT_EQ(kept.back().message, "line 21");
  // "x" and 499 letters are 999 bytes; one more would be 1,001.
  EXPECT_EQ(kept[0].message.size(), 999 + std::string(" ...").size());
  EXPECT_THAT(kept[0].message, EndsWith("ü ..."));
  EXPECT_THAT(kept[0].details.size(), Lt(kKeptBytes + 5));
}

}  // namespace
}  // namespace sortition
