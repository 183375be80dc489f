#include "core/aggregation/tied_orders.h"

#include "core/aggregation/submodular_function.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

std::vector<double> MeanOf(const BlockFunction& f,
                           const std::vector<double>& x) {
  std::vector<double> h(x.size());
  MeanSubgradient(f, x, h);
  return h;
}

// All pairs of 3: the increments are 2, 0, -2; of 2: 1, -1. The second block's
// scores differ by rounding.
TEST(TiedOrdersTest, EqualScoresShareTheirIncrements) {
  const BlockFunction f(
      {CardinalityFunction::AllPairs(3), CardinalityFunction::AllPairs(2)});
  ASSERT_NE(0.1 + 0.2, 0.3);
  EXPECT_EQ(MeanOf(f, {1, 0, 1, 0.1 + 0.2, 0.3}),
            (std::vector<double>{1, -2, 1, 0, 0}));
  EXPECT_EQ(MeanOf(f, {0, 1, 2, 5, 6}), (std::vector<double>{-2, 0, 2, -1, 1}));
}

TEST(TiedOrdersTest, PairsThatEitherTiesCountHalf) {
  const std::vector<double> rising = {1, 2, 3};
  EXPECT_EQ(TiedKendallDistance(rising, rising), 0);
  EXPECT_EQ(TiedKendallDistance(rising, std::vector<double>{3, 2, 1}), 3);
  EXPECT_EQ(TiedKendallDistance(rising, std::vector<double>{7, 7, 7}), 1.5);
  EXPECT_EQ(TiedKendallDistance(std::vector<double>{7, 7, 7},
                                std::vector<double>{5, 5, 5}),
            1.5);
  // (0, 1) and (1, 2) are tied in one order each; (0, 2) is reversed.
  EXPECT_EQ(TiedKendallDistance(std::vector<double>{1, 1, 0},
                                std::vector<double>{0, 1, 1}),
            2);
}

}  // namespace
}  // namespace sortition
