#include "core/scoring/tree_layout.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LeastFloatAboveTest, SeparatesTheFloatsBesideADouble) {
  // The double 0.1 lies below the float 0.1f, so 0.1f does not go left.
  ASSERT_LT(0.1, static_cast<double>(0.1f));
  EXPECT_EQ(LeastFloatAbove(0.1), 0.1f);
  // A float itself goes left.
  EXPECT_EQ(LeastFloatAbove(0.1f), std::nextafter(0.1f, kInfinity));
  EXPECT_EQ(LeastFloatAbove(-1), std::nextafter(-1.0f, kInfinity));
  // Halfway between two floats, which rounds down or up to even.
  const float one_up = std::nextafter(1.0f, 2.0f);
  const float two_up = std::nextafter(one_up, 2.0f);
  EXPECT_EQ(LeastFloatAbove((1.0 + one_up) / 2), one_up);
  EXPECT_EQ(LeastFloatAbove((static_cast<double>(one_up) + two_up) / 2),
            two_up);
}

TEST(LeastFloatAboveTest, CoversWhatIsBeyondFloats) {
  EXPECT_EQ(LeastFloatAbove(1e300), kInfinity);
  EXPECT_EQ(LeastFloatAbove(kLargest), kInfinity);
  EXPECT_EQ(LeastFloatAbove(-1e300), -kLargest);
  EXPECT_EQ(LeastFloatAbove(-kLargest), std::nextafter(-kLargest, 0.0f));
  EXPECT_EQ(LeastFloatAbove(1e-300), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(LeastFloatAbove(-1e-300), 0.0f);
  EXPECT_EQ(LeastFloatAbove(0), std::numeric_limits<float>::denorm_min());
}

}  // namespace
}  // namespace sortition
