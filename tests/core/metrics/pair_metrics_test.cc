#include "core/metrics/pair_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(PairMetricsTest, KendallCountsPairsThatDiffer) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = random() % 12;
    std::vector<uint32_t> a(n);
    std::iota(a.begin(), a.end(), 0);
    std::vector<uint32_t> b = a;
    std::shuffle(a.begin(), a.end(), random);
    std::shuffle(b.begin(), b.end(), random);
    uint64_t expected = 0;
    const auto rank = [](const std::vector<uint32_t>& order, uint32_t item) {
      return std::find(order.begin(), order.end(), item) - order.begin();
    };
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < i; ++j) {
        expected += (rank(a, i) < rank(a, j)) != (rank(b, i) < rank(b, j));
      }
    }
    EXPECT_EQ(KendallDistance(a, b), expected);
  }
}

TEST(PairMetricsTest, AreaIsTheShareOfRightPairs) {
  EXPECT_EQ(AreaUnderRoc(std::vector<uint8_t>{1, 1, 0}), 1);
  EXPECT_EQ(AreaUnderRoc(std::vector<uint8_t>{0, 0, 1}), 0);
  EXPECT_EQ(AreaUnderRoc(std::vector<uint8_t>{1, 0, 1, 0}), 0.75);
  EXPECT_TRUE(std::isnan(AreaUnderRoc(std::vector<uint8_t>{1, 1})));
}

// Compares with a count pair by pair; scores and labels have many ties.
TEST(RightPairsTest, CountsEqualScoresHalf) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const size_t n = random() % 9;
    std::vector<double> scores(n);
    std::vector<uint32_t> labels(n);
    for (size_t i = 0; i < n; ++i) {
      scores[i] = static_cast<double>(random() % 4);
      labels[i] = static_cast<uint32_t>(random() % 3);
    }
    double right = 0, pairs = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (labels[i] <= labels[j]) continue;
        ++pairs;
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      }
    }
    const double share = RightPairs(scores, labels);
    if (pairs == 0) {
      EXPECT_TRUE(std::isnan(share));
    } else {
      EXPECT_NEAR(share, right / pairs, 1e-14);
    }
  }
}

}  // namespace
}  // namespace sortition
