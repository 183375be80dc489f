#include "core/aggregation/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// Ties, both zeros, subnormal, huge and negative numbers.
std::vector<double> AwkwardScores(std::mt19937_64* random, size_t n) {
  std::normal_distribution<double> normal;
  const double special[] = {0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, 1};
  std::vector<double> scores(n);
  for (double& score : scores) {
    const uint64_t kind = (*random)() % 3;
    score = kind == 0   ? special[(*random)() % 7]
            : kind == 1 ? std::round(4 * normal(*random))
                        : normal(*random) * std::exp2((*random)() % 400);
  }
  return scores;
}

TEST(SorterTest, SortsByFallingScoreAndItem) {
  std::mt19937_64 random(1);
  Sorter sorter;
  Order order;
  std::vector<double> values;
  for (const size_t n : {0, 1, 2, 100, 2047, 2048, 2049, 50000}) {
    const std::vector<double> scores = AwkwardScores(&random, n);
    Order expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(
        expected.begin(), expected.end(),
        [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
    sorter.Sort(scores, &order);
    EXPECT_EQ(order, expected);
    sorter.SortValues(scores, &values);
    for (size_t r = 0; r < n; ++r) EXPECT_EQ(values[r], scores[order[r]]);
    EXPECT_EQ(OrderOf(scores), expected);
  }
}

TEST(OrderTest, RanksAreTheInverse) {
  EXPECT_EQ(RanksOf(Order{2, 0, 1}), (std::vector<uint32_t>{1, 2, 0}));
}

}  // namespace
}  // namespace sortition
