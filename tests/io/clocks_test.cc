#include "io/clocks.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr int64_t kSecond = 1000000;
constexpr int64_t kBase = 1'700'000'000 * kSecond;

class ClockStepsTest : public testing::Test {
 protected:
  // Looks `seconds` after the last look, at a clock that was set forward by
  // `step` seconds in between.
  std::optional<ClockStep> Pass(double seconds, double step = 0) {
    steady_us_ += static_cast<int64_t>(seconds * kSecond);
    now_us_ += static_cast<int64_t>((seconds + step) * kSecond);
    return steps_.Look(now_us_, steady_us_);
  }

  ClockSteps steps_;
  int64_t steady_us_ = 7 * kSecond;
  int64_t now_us_ = kBase;
};

TEST_F(ClockStepsTest, OrdinaryTimeHasNone) {
  EXPECT_EQ(Pass(0), std::nullopt);
  EXPECT_EQ(Pass(0.001), std::nullopt);
  EXPECT_EQ(Pass(3600), std::nullopt);
  // A slewed clock is 0.9 s off after every hour.
  for (int hour = 0; hour < 10; ++hour)
    EXPECT_EQ(Pass(3600, 0.9), std::nullopt);
}

TEST_F(ClockStepsTest, ForwardContainsStampsOfBothSides) {
  Pass(0);
  const auto step = Pass(2, 100);
  ASSERT_TRUE(step.has_value());
  // The last look was at 0; the clock says 102 now.
  EXPECT_LE(step->first_us, kBase);
  EXPECT_EQ(step->last_us, kBase + 102 * kSecond);
  EXPECT_EQ(Pass(2), std::nullopt);
}

TEST_F(ClockStepsTest, BackwardContainsStampsOfBothSides) {
  Pass(0);
  const auto step = Pass(2, -100);
  ASSERT_TRUE(step.has_value());
  // It was set at 0 to -100, or at 2 to -98, or in between.
  EXPECT_EQ(step->first_us, kBase - 100 * kSecond);
  EXPECT_EQ(step->last_us, kBase + 2 * kSecond);
}

}  // namespace
}  // namespace sortition
