#include "core/aggregation/lovasz_mallows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/aggregation/regulariser.h"
#include "core/base/random.h"
#include "core/policies/distributions/boltzmann_orders.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

std::vector<double> DcgIncrements(size_t n) {
  const auto f = CardinalityFunction::Dcg(n, 0);
  return {f->increments().begin(), f->increments().end()};
}

// Draws orders from the model with the parameters `theta`.
std::vector<ObservedOrder> Simulate(int count, int items,
                                    const Eigen::VectorXd& theta,
                                    uint64_t seed) {
  std::mt19937_64 random(seed);
  RandomSequence numbers(SeedKey(seed));
  BoltzmannOrders boltzmann;
  std::vector<int32_t> drawn;
  std::vector<double> conditionals;
  std::vector<ObservedOrder> orders(count);
  for (ObservedOrder& observed : orders) {
    observed.lists =
        RandomLists(&random, static_cast<int>(theta.size()), items);
    const Eigen::VectorXd scores = observed.lists.transpose() * theta;
    const auto n = static_cast<size_t>(items);
    boltzmann.Build(DcgIncrements(n), {scores.data(), n});
    std::vector<double> ranks(n);
    for (double& number : ranks) number = numbers.Uniform();
    boltzmann.Draw(ranks, &drawn, &conditionals);
    observed.order.assign(drawn.begin(), drawn.end());
  }
  return orders;
}

// The probability by its definition, eq. 21, over all orders.
TEST(FitMallowsTest, LikelihoodIsThatOfTheDivergences) {
  std::mt19937_64 random(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const int n = 2 + static_cast<int>(random() % 4);
    const auto f = CardinalityFunction::AllPairs(n);
    std::vector<ObservedOrder> orders(3);
    for (ObservedOrder& observed : orders) {
      observed.lists = RandomLists(&random, 2, n);
      observed.order.resize(n);
      std::iota(observed.order.begin(), observed.order.end(), 0);
      std::shuffle(observed.order.begin(), observed.order.end(), random);
    }
    ASSERT_OK_AND_ASSIGN(const MallowsFit fit,
                         FitMallows(orders, f->increments(), 1));
    double expected = 0;
    for (const ObservedOrder& observed : orders) {
      const auto weight = [&](const Order& order) {
        double sum = 0;
        for (int i = 0; i < 2; ++i) {
          const Eigen::VectorXd x = observed.lists.row(i);
          sum -= fit.theta(i) *
                 f->Divergence({x.data(), static_cast<size_t>(n)}, order);
        }
        return sum;
      };
      Order order(n);
      std::iota(order.begin(), order.end(), 0);
      double total = 0;
      do {
        total += std::exp(weight(order));
      } while (std::next_permutation(order.begin(), order.end()));
      expected += weight(observed.order) - std::log(total);
    }
    EXPECT_NEAR(fit.log_likelihood, expected, 1e-10);
    EXPECT_NEAR(fit.uniform_log_likelihood, -3 * std::lgamma(n + 1.0), 1e-10);
    EXPECT_GE(fit.log_likelihood, fit.uniform_log_likelihood);
  }
}

TEST(FitMallowsTest, FindsTheTruthIn5000Orders) {
  const Eigen::Vector3d truth(6, 3, 9);
  const std::vector<double> increments = DcgIncrements(6);
  const std::vector<ObservedOrder> orders = Simulate(5000, 6, truth, 2);
  ASSERT_OK_AND_ASSIGN(const MallowsFit fit, FitMallows(orders, increments, 0));
  EXPECT_TRUE(fit.converged);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(fit.theta(i), truth(i), 0.05 * truth(i));
    EXPECT_LT(std::abs(fit.theta(i) - truth(i)), 4 * fit.standard_error(i));
  }
}

TEST(FitMallowsTest, NamesWhatIsWrong) {
  const std::vector<double> increments = {2, 1};
  const ObservedOrder good = {ScoreMatrix::Zero(1, 2), {0, 1}};
  const auto problem = [&](ObservedOrder second) {
    return std::string(
        FitMallows(std::vector{good, std::move(second)}, increments, 0)
            .status()
            .message());
  };
  EXPECT_THAT(problem({ScoreMatrix::Zero(1, 3), {0, 1, 2}}),
              HasSubstr("order 1 has 3 items, must have 1 to 2"));
  EXPECT_THAT(problem({ScoreMatrix::Zero(2, 2), {0, 1}}),
              HasSubstr("order 1 has 2 lists, must have 1"));
  EXPECT_THAT(problem({ScoreMatrix::Zero(1, 2), {1, 1}}),
              HasSubstr("order 1: order[1] is 1, must not be named twice"));
  EXPECT_THAT(problem({ScoreMatrix::Constant(1, 2, NAN), {0, 1}}),
              HasSubstr("order 1 has a score that is not finite"));
  EXPECT_THAT(FitMallows({}, increments, 0),
              IsInvalidArgument("there are no orders"));
  EXPECT_THAT(FitMallows(std::vector{good}, increments, -1),
              IsInvalidArgument("ridge is -1, must be at least 0"));
}

TEST(FitMallowsTest, UnitsAndOffsetsDoNotMatter) {
  const std::vector<double> increments = DcgIncrements(5);
  const std::vector<ObservedOrder> orders =
      Simulate(300, 5, Eigen::Vector2d(5, 2), 5);
  ASSERT_OK_AND_ASSIGN(const MallowsFit fit, FitMallows(orders, increments, 0));
  ASSERT_TRUE(fit.converged);
  for (const double unit : {1e7, 1e-6}) {
    std::vector<ObservedOrder> others = orders;
    for (size_t q = 0; q < others.size(); ++q) {
      others[q].lists.row(0) *= unit;
      others[q].lists.row(1).array() += 1000 * static_cast<double>(q);
    }
    ASSERT_OK_AND_ASSIGN(const MallowsFit other,
                         FitMallows(others, increments, 0));
    EXPECT_TRUE(other.converged);
    EXPECT_NEAR(other.theta(0) * unit, fit.theta(0), 1e-6);
    EXPECT_NEAR(other.theta(1), fit.theta(1), 1e-6);
    EXPECT_NEAR(other.standard_error(0) * unit, fit.standard_error(0), 1e-6);
    EXPECT_NEAR(other.standard_error(1), fit.standard_error(1), 1e-6);
    EXPECT_NEAR(other.log_likelihood, fit.log_likelihood, 1e-6);
  }
}

// A ridge shrinks θ, but not the information about it.
TEST(FitMallowsTest, StandardErrorsAreThoseOfTheOrdersAlone) {
  const std::vector<double> increments = DcgIncrements(5);
  const std::vector<ObservedOrder> orders =
      Simulate(200, 5, Eigen::VectorXd::Constant(1, 3.0), 6);
  for (const double ridge : {0.0, 50.0}) {
    ASSERT_OK_AND_ASSIGN(const MallowsFit fit,
                         FitMallows(orders, increments, ridge));
    const auto likelihood = [&](double theta) {
      double sum = 0;
      for (const ObservedOrder& observed : orders) {
        sum += MallowsLogProbability(observed, increments,
                                     Eigen::VectorXd::Constant(1, theta))
                   .value();
      }
      return sum;
    };
    const double theta = fit.theta(0);
    EXPECT_NEAR(fit.log_likelihood, likelihood(theta), 1e-9);
    constexpr double kStep = 1e-2;
    const double curvature =
        (2 * likelihood(theta) - likelihood(theta + kStep) -
         likelihood(theta - kStep)) /
        (kStep * kStep);
    EXPECT_NEAR(fit.standard_error(0), 1 / std::sqrt(curvature),
                1e-4 * fit.standard_error(0));
  }
}

TEST(FitMallowsTest, ListsThatSayNothingAreUnknown) {
  const std::vector<double> increments = DcgIncrements(5);
  std::vector<ObservedOrder> orders =
      Simulate(200, 5, Eigen::Vector2d(5, 2), 7);
  ASSERT_OK_AND_ASSIGN(const MallowsFit both,
                       FitMallows(orders, increments, 0));
  // One feature is the same everywhere, and two carry the same information.
  for (ObservedOrder& observed : orders) {
    observed.lists.conservativeResize(4, Eigen::NoChange);
    observed.lists.row(2).setConstant(1000);
    observed.lists.row(3) = observed.lists.row(1);
  }
  for (const double ridge : {0.0, 1e-9}) {
    ASSERT_OK_AND_ASSIGN(const MallowsFit fit,
                         FitMallows(orders, increments, ridge));
    EXPECT_TRUE(fit.converged);
    EXPECT_NEAR(fit.theta(0), both.theta(0), 1e-5);
    EXPECT_EQ(fit.theta(2), 0);
    EXPECT_NEAR(fit.theta(1) + fit.theta(3), both.theta(1), 1e-5);
    EXPECT_NEAR(fit.log_likelihood, both.log_likelihood, 1e-6);
    EXPECT_NEAR(fit.standard_error(0), both.standard_error(0), 1e-5);
    for (const int unknown : {1, 2, 3}) {
      EXPECT_EQ(fit.standard_error(unknown), HUGE_VAL) << unknown;
    }
  }
}

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
              IsInvalidArgument("lambda is -1, must be at least 0"));
  EXPECT_THAT(ProximalOrder(*f, Order{0, 0}, 1, z, x),
              IsInvalidArgument("order[1] is 0, must not be named twice"));
  x.resize(1);
  EXPECT_THAT(ProximalOrder(*f, Order{0, 1}, 1, z, x),
              IsInvalidArgument("z has 2 and x 1 entries, must have 2"));
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
