#include "core/aggregation/order.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

void ExpectSorts(const std::vector<double>& scores) {
  Order expected(scores.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(
      expected.begin(), expected.end(),
      [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  Sorter sorter;
  Order order;
  std::vector<double> values;
  for (int use = 0; use < 2; ++use) {  // The second use is warm.
    sorter.Sort(scores, &order);
    ASSERT_EQ(order, expected);
    sorter.SortValues(scores, &values);
    ASSERT_EQ(values.size(), scores.size());
    for (size_t r = 0; r < scores.size(); ++r) {
      ASSERT_EQ(values[r], scores[order[r]]);
    }
  }
}

TEST(SorterTest, SortsByFallingScoreAndItem) {
  std::mt19937_64 random(1);
  for (const size_t n : {0, 1, 2, 100, 2047, 2048, 2049, 50000}) {
    ExpectSorts(AwkwardScores(&random, n));
  }
}

// Many parts of about the same size, with ties across and within them.
TEST(SorterTest, SortsScoresThatFillTheirRange) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-3, 5);
  std::vector<double> scores(100000);
  for (double& score : scores) score = uniform(random);
  for (size_t i = 0; i < scores.size(); i += 7) scores[i] = scores[i / 2];
  ExpectSorts(scores);
}

TEST(SorterTest, SortsScoresWithoutARange) {
  std::vector<double> scores(20000, 0.5);
  ExpectSorts(scores);
  std::vector<double> one_differs(3000, 0.5);
  one_differs[17] = 0.75;
  ExpectSorts(one_differs);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = 5e-324 * static_cast<double>(i % 3);
  }
  ExpectSorts(scores);
  const double most = std::numeric_limits<double>::max();
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = i % 3 == 0 ? -most : i % 3 == 1 ? most : 1.0;
  }
  ExpectSorts(scores);
  scores[5] = HUGE_VAL;
  scores[6] = -HUGE_VAL;
  ExpectSorts(scores);
}

TEST(OrderTest, RanksAreTheInverse) {
  EXPECT_EQ(RanksOf(Order{2, 0, 1}), (std::vector<uint32_t>{1, 2, 0}));
}

}  // namespace
}  // namespace sortition
