#include "core/aggregation/tied_orders.h"

#include "core/aggregation/submodular_function.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"

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

// The mean over all orders that agree with the groups, one by one.
TEST_F(RandomFunctionsTest, TiedSubgradientIsTheMeanOverTheOrdersOfTies) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      const size_t n = 1 + Below(5);
      const Function f = RandomFunction(n, kind);
      std::vector<uint32_t> ties(n);
      for (uint32_t& tie : ties) tie = Below(static_cast<int>(n));
      Order order(n);
      std::iota(order.begin(), order.end(), 0u);
      std::vector<double> mean(n), h(n);
      double orders = 0;
      do {
        const bool agrees = std::is_sorted(
            order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return ties[a] < ties[b]; });
        if (!agrees) continue;
        f->ExtremeSubgradient(order, h);
        for (size_t i = 0; i < n; ++i) mean[i] += h[i];
        ++orders;
      } while (std::next_permutation(order.begin(), order.end()));
      f->TiedSubgradient(ties, h);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(h[i], mean[i] / orders, 1e-12) << kind;
      }
    }
  }
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
