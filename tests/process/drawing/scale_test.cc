#include "process/drawing/scale.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;

TEST(ScaleTest, MapsEndsToPixelsWithRoom) {
  const Scale scale = MakeScale(0, 10, 100, 212);
  EXPECT_DOUBLE_EQ(scale.low, -0.6);
  EXPECT_DOUBLE_EQ(scale.high, 10.6);
  EXPECT_DOUBLE_EQ(scale(-0.6), 100);
  EXPECT_DOUBLE_EQ(scale(10.6), 212);
  EXPECT_DOUBLE_EQ(scale(5), 156);
}

TEST(ScaleTest, OneValueIsInTheMiddle) {
  EXPECT_DOUBLE_EQ(MakeScale(3, 3, 0, 100)(3), 50);
}

TEST(ScaleTest, TicksAreRoundAndFew) {
  EXPECT_THAT(Ticks(0, 1),
              ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
  EXPECT_THAT(Ticks(3, 3), ElementsAre(3));
  for (double low = -7.3; low < 8; low += 1.7) {
    for (double width = 1e-6; width < 1e7; width *= 1.9) {
      const std::vector<double> ticks = Ticks(low, low + width);
      ASSERT_GE(ticks.size(), 3u) << low << " " << width;
      ASSERT_LE(ticks.size(), 9u);
      ASSERT_GE(ticks.front(), low - 1e-9 * width);
      ASSERT_LE(ticks.back(), low + width * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace sortition
