#include "process/drawing/colours.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(ColoursTest, ShadesDarken) {
  EXPECT_EQ(Shade(-1), Shade(0));
  EXPECT_EQ(Shade(2), Shade(1));
  EXPECT_EQ(Shade(0), "#fffaf0");
  EXPECT_EQ(Shade(1), "#7f0014");
}

TEST(ColoursTest, TextOnDarkShadesIsLight) {
  EXPECT_EQ(InkOnShade(0), kInk);
  EXPECT_EQ(InkOnShade(1), kPaper);
}

TEST(ColoursTest, FadesFromDarkToLight) {
  EXPECT_EQ(Fade(0), "#08306b");
  EXPECT_EQ(Fade(1), "#96bee1");
  EXPECT_EQ(Fade(2), Fade(1));
}

TEST(ColoursTest, TenThingsDiffer) {
  for (size_t a = 0; a < 10; ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(Colour(a), Colour(b));
  }
  EXPECT_EQ(Colour(10), Colour(0));
}

}  // namespace
}  // namespace sortition
