#include "core/losses/order_moments.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

std::vector<double> RankWeights(size_t n) {
  std::vector<double> weights;
  for (size_t rank = 0; rank < n; ++rank) {
    weights.push_back(1 / std::log2(static_cast<double>(rank) + 2));
  }
  return weights;
}

TEST(OrderMomentsTest, EqualEnumeration) {
  RandomSequence random(SeedKey(1));
  OrderMoments moments;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const size_t n = 1 + random.Below(6);
    const std::vector<double> weights = RankWeights(n);
    std::vector<double> scores(n);
    for (double& score : scores) score = std::round(4 * random.Normal()) / 2;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    double z = 0;
    std::vector<double> expected(n);
    do {
      double w = 0;
      for (size_t rank = 0; rank < n; ++rank) {
        w += weights[rank] * scores[order[rank]];
      }
      z += std::exp(w);
      for (size_t rank = 0; rank < n; ++rank) {
        expected[order[rank]] += weights[rank] * std::exp(w);
      }
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<double> means(n);
    EXPECT_NEAR(moments.Evaluate(weights, scores, means), std::log(z), 1e-12);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(means[i], expected[i] / z, 1e-13);
    }
  }
}

// Sizes on both sides of where BoltzmannOrders takes over. Without it, sums of
// scores 1000 apart would not be finite.
TEST(OrderMomentsTest, FarScoresAreExactToo) {
  RandomSequence random(SeedKey(2));
  OrderMoments moments;
  BoltzmannOrders orders;
  for (const double spread : {1.0, 100.0, 299.0, 301.0, 1000.0, 1e6}) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      constexpr size_t kItems = OrderMoments::kMaxItems;
      const std::vector<double> weights = RankWeights(kItems);
      std::vector<double> scores(kItems);
      for (double& score : scores) {
        score = spread * (repeat % 2 == 0 ? random.Uniform()
                                          : std::round(random.Uniform()));
      }
      std::vector<double> means(kItems);
      std::vector<double> expected(kItems);
      const double log_z = moments.Evaluate(weights, scores, means);
      orders.Build(weights, scores);
      orders.ExpectedRankWeights(expected);
      EXPECT_NEAR(log_z, orders.LogPartition(), 1e-12 * (1 + std::abs(log_z)));
      for (size_t i = 0; i < kItems; ++i) {
        EXPECT_NEAR(means[i], expected[i], 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace sortition
