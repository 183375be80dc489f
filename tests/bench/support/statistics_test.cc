#include "bench/support/statistics.h"

#include <cmath>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(SpreadTest, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  const Spread spread = SpreadOf({4, 1, 3, 2});
  EXPECT_EQ(spread.lowest, 1);
  EXPECT_EQ(spread.median, 2.5);
  EXPECT_EQ(spread.highest, 4);
  EXPECT_EQ(MedianOf({5, 1, 2}), 2);
}

TEST(GrowthExponentTest, IsThePowerOfAPowerLaw) {
  std::vector<std::pair<double, double>> points;
  for (const double n : {10., 100., 1000.}) {
    points.emplace_back(n, 3 * std::pow(n, 1.25));
  }
  EXPECT_NEAR(GrowthExponent(points), 1.25, 1e-12);
}

// Differences 1, 2, 3: t = 2 / (1 / √3) = 2 √3 with two degrees of freedom,
// where P(T > t) = 1/2 - t / (2 √(2 + t²)).
TEST(PairedTestTest, HasStudentsTailOfTwoDegreesOfFreedom) {
  const std::vector<double> a = {2, 4, 6};
  const std::vector<double> b = {1, 2, 3};
  const PairedTest test = TestPairs(a, b);
  EXPECT_NEAR(test.t, 2 * std::sqrt(3), 1e-12);
  EXPECT_NEAR(test.p, 0.5 - test.t / (2 * std::sqrt(2 + test.t * test.t)),
              1e-9);
}

}  // namespace
}  // namespace sortition
