// A sidecar that waits for a spool says so: at once, then once a minute.
#include "sidecar/spools/spool_wait.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecondUs = 1000000;

class SpoolWaitTest : public testing::Test {
 protected:
  // How many lines an update at that time logs.
  int64_t LinesOf(bool is_found, int64_t now_us) {
    CaptureLog();
    wait_.Update(is_found, now_us);
    lines_ = CapturedLog();
    return std::count(lines_.begin(), lines_.end(), '\n');
  }

  SpoolWait wait_{{"/s/one", "/s/*"}};
  std::string lines_;
};

TEST_F(SpoolWaitTest, SaysSoAtOnceAndThenOnceAMinute) {
  EXPECT_EQ(LinesOf(false, 1000 * kSecondUs), 1);
  EXPECT_THAT(lines_, testing::AllOf(HasSubstr("no spool yet"),
                                     HasSubstr("/s/one,/s/*")));
  EXPECT_THAT(wait_.problem(), HasSubstr("(/s/one,/s/*)"));
  EXPECT_EQ(LinesOf(false, 1059 * kSecondUs), 0);
  EXPECT_EQ(LinesOf(false, 1060 * kSecondUs), 1);
  EXPECT_EQ(LinesOf(false, 1119 * kSecondUs), 0);
  EXPECT_EQ(LinesOf(false, 1120 * kSecondUs), 1);
}

TEST_F(SpoolWaitTest, SaysWhenThereIsOneAndNothingWhereThereAlwaysWas) {
  EXPECT_EQ(LinesOf(true, kSecondUs), 0);
  EXPECT_EQ(LinesOf(false, 2 * kSecondUs), 1);
  EXPECT_EQ(LinesOf(true, 3 * kSecondUs), 1);
  EXPECT_THAT(lines_, HasSubstr("spool found"));
  EXPECT_EQ(wait_.problem(), "");
  EXPECT_EQ(LinesOf(true, 300 * kSecondUs), 0);
}

TEST_F(SpoolWaitTest, AClockThatIsSetBackDoesNotSilenceIt) {
  EXPECT_EQ(LinesOf(false, 1000 * kSecondUs), 1);
  EXPECT_EQ(LinesOf(false, 10 * kSecondUs), 1);
}

}  // namespace
}  // namespace sortition
