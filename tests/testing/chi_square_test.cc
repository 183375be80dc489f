#include "tests/testing/chi_square.h"

#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// With 2 degrees of freedom the upper tail is exp(-x / 2).
TEST(ChiSquareTest, TwoDegreesOfFreedomAreExponential) {
  for (const double x : {0.01, 0.5, 2.0, 3.9, 4.1, 30.0, 500.0}) {
    EXPECT_NEAR(ChiSquareUpperTail(x, 2) / std::exp(-x / 2), 1, 1e-12) << x;
  }
}

// With 1 degree of freedom it is erfc(√(x / 2)).
TEST(ChiSquareTest, OneDegreeOfFreedomIsErfc) {
  for (const double x : {0.01, 0.5, 2.0, 3.84, 20.0, 100.0}) {
    EXPECT_NEAR(ChiSquareUpperTail(x, 1) / std::erfc(std::sqrt(x / 2)), 1,
                1e-12)
        << x;
  }
}

// With an even number 2a: exp(-x/2) Σ_{j<a} (x/2)^j / j!.
TEST(ChiSquareTest, ManyDegreesOfFreedomArePoisson) {
  const double half = 430;  // Statistic 860 for 720 orders.
  const int a = 360;
  double sum = 0;
  for (int j = 0; j < a; ++j) {
    sum += std::exp(-half + j * std::log(half) - std::lgamma(j + 1));
  }
  EXPECT_NEAR(ChiSquareUpperTail(2 * half, 2 * a) / sum, 1, 1e-10);
}

// Counts 60 and 40 for a fair coin: statistic 4, p = erfc(√2) = 0.0455.
TEST(ChiSquareTest, CoinTossedAHundredTimes) {
  EXPECT_NEAR(ChiSquarePValue(std::vector<uint64_t>{60, 40},
                              std::vector<double>{0.5, 0.5}),
              std::erfc(std::sqrt(2.0)), 1e-12);
}

TEST(ChiSquareTest, RejectsWhatIsImpossible) {
  EXPECT_EQ(
      ChiSquarePValue(std::vector<uint64_t>{99, 1}, std::vector<double>{1, 0}),
      0);
}

TEST(ChiSquareTest, OneCellIsCertain) {
  EXPECT_EQ(ChiSquarePValue(std::vector<uint64_t>{100}, std::vector<double>{1}),
            1);
}

}  // namespace
}  // namespace sortition
