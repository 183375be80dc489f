#include "core/aggregation/regulariser.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::vector<double> RandomScores(std::mt19937_64* random, size_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& score : x) score = normal(*random);
  return x;
}

Order RandomOrder(std::mt19937_64* random, size_t n) {
  Order order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *random);
  return order;
}

double ProximalObjective(const CardinalityFunction& f, const Order& order,
                         double lambda, const std::vector<double>& z,
                         const std::vector<double>& x) {
  double distance = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    distance += (x[i] - z[i]) * (x[i] - z[i]);
  }
  return distance / 2 + lambda * f.Divergence(x, order);
}

// x is the minimum of a strongly convex function if no direction lowers it: all
// of a random set, and the pairs along which the divergence has its kinks.
TEST(ProximalOrderTest, NoDirectionLowersTheObjective) {
  std::mt19937_64 random(1);
  for (int repeat = 0; repeat < 500; ++repeat) {
    const size_t n = 1 + random() % 7;
    const auto f = repeat % 2 == 0 ? CardinalityFunction::AllPairs(n)
                                   : CardinalityFunction::Dcg(n, 0);
    const Order order = RandomOrder(&random, n);
    const std::vector<double> z = RandomScores(&random, n);
    const double lambda = std::exp2(static_cast<int>(random() % 8) - 5);
    std::vector<double> x(n);
    ASSERT_OK(ProximalOrder(*f, order, lambda, z, x));
    const double least = ProximalObjective(*f, order, lambda, z, x);
    for (int direction = 0; direction < 50; ++direction) {
      std::vector<double> step = RandomScores(&random, n);
      if (direction % 2 == 0) {
        std::fill(step.begin(), step.end(), 0);
        step[random() % n] += 1;
        step[random() % n] -= 1;
      }
      for (const double size : {1e-4, 1e-2, 1.0}) {
        std::vector<double> y = x;
        for (size_t i = 0; i < n; ++i) y[i] += size * step[i];
        ASSERT_GE(ProximalObjective(*f, order, lambda, z, y), least - 1e-13);
      }
    }
  }
}

TEST(ProximalOrderTest, LeavesAloneWhatIsInOrder) {
  const std::vector<double> z = {3, 1, 2};
  std::vector<double> x(3);
  ASSERT_OK(ProximalOrder(*CardinalityFunction::AllPairs(3), Order{0, 2, 1}, 10,
                          z, x));
  EXPECT_EQ(x, z);
  // Two items are pulled together, at most to their mean.
  const auto pair = CardinalityFunction::AllPairs(2);
  const std::vector<double> inverted = {0, 1};
  x.resize(2);
  ASSERT_OK(ProximalOrder(*pair, Order{0, 1}, 0.1, inverted, x));
  EXPECT_NEAR(x[0], 0.2, 1e-15);  // d = 2 (x_1 - x_0)_+.
  EXPECT_NEAR(x[1], 0.8, 1e-15);
  ASSERT_OK(ProximalOrder(*pair, Order{0, 1}, 7, inverted, x));
  EXPECT_EQ(x, (std::vector<double>{0.5, 0.5}));
}

TEST(ProximalOrderTest, NamesWhatIsWrong) {
  const auto f = CardinalityFunction::AllPairs(2);
  const std::vector<double> z = {1, 2};
  std::vector<double> x(2);
  EXPECT_THAT(ProximalOrder(*f, Order{0, 1}, -1, z, x),
              IsInvalid(HasSubstr("lambda is -1, must be at least 0")));
  EXPECT_THAT(ProximalOrder(*f, Order{0, 0}, 1, z, x),
              IsInvalid(HasSubstr("order[1] is 0, must not be named twice")));
  x.resize(1);
  EXPECT_THAT(ProximalOrder(*f, Order{0, 1}, 1, z, x),
              IsInvalid(HasSubstr("z has 2 and x 1 entries, must have 2")));
}

TEST(AddOrderPenaltyTest, GradientIsThatOfTheDivergence) {
  std::mt19937_64 random(2);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const size_t n = 1 + random() % 7;
    const auto f = CardinalityFunction::Dcg(n, 0);
    const Order order = RandomOrder(&random, n);
    const std::vector<double> x = RandomScores(&random, n);
    std::vector<double> gradient(n, 0.25);  // The function adds to it.
    EXPECT_EQ(AddOrderPenalty(*f, order, 3, x, gradient),
              3 * f->Divergence(x, order));
    for (size_t i = 0; i < n; ++i) {
      std::vector<double> up = x;
      std::vector<double> down = x;
      up[i] += 1e-7;
      down[i] -= 1e-7;
      EXPECT_NEAR(
          gradient[i] - 0.25,
          3 * (f->Divergence(up, order) - f->Divergence(down, order)) / 2e-7,
          1e-6);
    }
  }
}

TEST(AddOrderPenaltyTest, IsAtRestWhereTheOrderHolds) {
  const std::vector<double> x = {1, 1, 0};  // Ties follow the order.
  std::vector<double> gradient(3);
  EXPECT_EQ(AddOrderPenalty(*CardinalityFunction::AllPairs(3), Order{1, 0, 2},
                            1, x, gradient),
            0);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace sortition
