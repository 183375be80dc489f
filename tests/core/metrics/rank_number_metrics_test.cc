#include "core/metrics/rank_number_metrics.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/metrics/ranking_metrics.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using Values = std::vector<double>;

// The example after definition 17.5 of seed 001.
TEST(RankNumbersTest, AreTheLecturesExample) {
  const std::vector<uint32_t> expected = {4, 3, 5, 1, 2};
  EXPECT_EQ(RankNumbers(Values{2, 1, 6, -1, 0.5}), expected);
  EXPECT_EQ(RankNumbers(Values{50, 1, 100, -1, 0.5}), expected);
}

TEST(RankNumbersTest, EqualValuesGetThemInTheirOrder) {
  EXPECT_EQ(RankNumbers(Values{1, 0, 1, 0}),
            (std::vector<uint32_t>{3, 1, 4, 2}));
}

Values Random(std::mt19937_64* random, size_t n, int levels) {
  Values values(n);
  for (double& value : values) {
    value = static_cast<double>((*random)() % static_cast<uint64_t>(levels));
  }
  return values;
}

int Sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

// The sum over i < j of rank numbers, as printed.
TEST(KendallTauCostTest, IsTheShareOfPairsThatDiffer) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const size_t n = random() % 9;
    const Values scores = Random(&random, n, 4);
    const Values labels = Random(&random, n, 3);
    const std::vector<uint32_t> a = RankNumbers(scores);
    const std::vector<uint32_t> b = RankNumbers(labels);
    double differ = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        const double in_a = static_cast<double>(a[j]) - a[i];
        const double in_b = static_cast<double>(b[j]) - b[i];
        differ += Sign(in_a) != Sign(in_b) ? 1 : 0;
      }
    }
    const double pairs = static_cast<double>(n * (n - std::min<size_t>(n, 1)));
    EXPECT_DOUBLE_EQ(KendallTauCost(scores, labels),
                     pairs == 0 ? 0 : 2 * differ / pairs);
  }
}

// Scores (1, 3, 2), labels (4, 0, 1): the order is 1, 2, 0 with gains 0, 1, 4;
// the best is 4, 1, 0.
TEST(NdcgCostTest, CountsTheFirstKRanksOnly) {
  const Values scores = {1, 3, 2};
  const Values labels = {4, 0, 1};
  const double second = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(NdcgCost(scores, labels, 1), 1);
  EXPECT_DOUBLE_EQ(NdcgCost(scores, labels, 2), 1 - second / (4 + second));
  const double all = 1 - (second + 2) / (4 + second);
  EXPECT_DOUBLE_EQ(NdcgCost(scores, labels, 3), all);
  EXPECT_DOUBLE_EQ(NdcgCost(scores, labels, 0), all);
  EXPECT_DOUBLE_EQ(NdcgCost(scores, labels, 9), all);
}

TEST(NdcgCostTest, IsNotDefinedWhereAllLabelsAre0) {
  EXPECT_TRUE(std::isnan(NdcgCost(Values{1, 2}, Values{0, 0}, 0)));
}

// If scores are distinct, ties do not matter and seeds 001 and 003 agree; the
// labels' own order costs nothing.
TEST(NdcgCostTest, IsOneLessTheLinearNdcg) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const size_t n = 1 + random() % 8;
    const auto k = static_cast<uint32_t>(random() % 10);
    Values scores(n);
    for (size_t i = 0; i < n; ++i) scores[i] = static_cast<double>(i);
    std::shuffle(scores.begin(), scores.end(), random);
    Values labels = Random(&random, n, 4);
    labels[random() % n] = 3;
    const std::vector<uint32_t> numbers = RankNumbers(scores);
    std::vector<int> ranked(n);
    for (size_t i = 0; i < n; ++i) {
      ranked[n - numbers[i]] = static_cast<int>(labels[i]);
    }
    EXPECT_NEAR(NdcgCost(scores, labels, k), 1 - LinearNdcg(ranked, ranked, k),
                1e-14);
    EXPECT_NEAR(NdcgCost(labels, labels, k), 0, 1e-15);
  }
}

}  // namespace
}  // namespace sortition
