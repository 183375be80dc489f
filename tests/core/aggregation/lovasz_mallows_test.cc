#include "core/aggregation/lovasz_mallows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/base/random.h"
#include "core/policies/boltzmann_orders.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::vector<double> DcgIncrements(size_t n) {
  const auto f = CardinalityFunction::Dcg(n, 0);
  return {f->increments().begin(), f->increments().end()};
}

ScoreMatrix RandomLists(std::mt19937_64* random, int lists, int items) {
  std::uniform_real_distribution<double> uniform(0, 1);
  ScoreMatrix matrix(lists, items);
  for (double& score : matrix.reshaped()) score = uniform(*random);
  return matrix;
}

// By the definition, eq. 21, over all orders.
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
  std::mt19937_64 random(2);
  const Eigen::Vector3d truth(6, 3, 9);
  const std::vector<double> increments = DcgIncrements(6);
  std::vector<ObservedOrder> orders(5000);
  BoltzmannOrders boltzmann;
  RandomSequence numbers(SeedKey(3));
  std::vector<int32_t> drawn;
  std::vector<double> conditionals;
  for (ObservedOrder& observed : orders) {
    observed.lists = RandomLists(&random, 3, 6);
    const Eigen::VectorXd scores = observed.lists.transpose() * truth;
    boltzmann.Build(increments, {scores.data(), 6});
    double ranks[6];
    for (double& number : ranks) number = numbers.Uniform();
    boltzmann.Draw(ranks, &drawn, &conditionals);
    observed.order.assign(drawn.begin(), drawn.end());
  }
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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there are no orders")));
  EXPECT_THAT(FitMallows(std::vector{good}, increments, -1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ridge is -1, must be at least 0")));
}

TEST(ExpDividedDifferenceTest, EqualsItsDefinition) {
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2}), std::exp(-2),
              1e-16);
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2, 1}),
              (std::exp(1) - std::exp(-2)) / 3, 1e-15);
  // Equal nodes: e^t / n!.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>(6, -1)),
              std::exp(-1) / 120, 1e-17);
  // Far apart: the largest rules. exp[0, -100, -200] = (1/100 - ~0) / 200.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{0, -100, -200}),
              1.0 / 20000, 1e-17);
  const std::vector<double> nodes = {-1, 0, -30, -2};
  double expected = 0;
  for (size_t i = 0; i < 4; ++i) {
    double product = 1;
    for (size_t j = 0; j < 4; ++j) {
      if (j != i) product *= nodes[i] - nodes[j];
    }
    expected += std::exp(nodes[i]) / product;
  }
  EXPECT_NEAR(ExpDividedDifference(nodes), expected, 1e-15);
}

// Two items, |S||V∖S|: d = 2 (x_1 - x_0)_+, and the lead u = x_1 - x_0 has the
// density 1 - |u|: Z = 1/2 + ∫_0^1 exp(-2θu) (1 - u) du.
TEST(ScoreNormaliserTest, OfTwoItemsInClosedForm) {
  const auto f = CardinalityFunction::AllPairs(2);
  for (const double theta : {0.0, 0.1, 1.0, 20.0}) {
    const double a = 2 * theta;
    const double half = theta == 0 ? 0.5 : (a - 1 + std::exp(-a)) / (a * a);
    ASSERT_OK_AND_ASSIGN(const Normaliser z, ScoreNormaliser(*f, theta, 0, 1));
    EXPECT_NEAR(z.value, 0.5 + half, 1e-13);
    EXPECT_EQ(z.standard_error, 0);
  }
}

TEST(ScoreNormaliserTest, ExactAndSampledAgree) {
  for (const size_t n : {3, 5, 7}) {
    const auto f = CardinalityFunction::Dcg(n, 0);
    ASSERT_OK_AND_ASSIGN(const Normaliser exact, ScoreNormaliser(*f, 5, 0, 1));
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(0, 1);
    Order trusted(n);
    std::iota(trusted.begin(), trusted.end(), 0);
    constexpr int kSamples = 100000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kSamples; ++i) {
      std::vector<double> x(n);
      for (double& score : x) score = uniform(random);
      const double density = std::exp(-5 * f->Divergence(x, trusted));
      sum += density;
      squares += density * density;
    }
    const double mean = sum / kSamples;
    const double error =
        std::sqrt((squares / kSamples - mean * mean) / kSamples);
    EXPECT_NEAR(exact.value, mean, 4 * error);
  }
  // And the sampler itself, where there is no exact value, by a longer run.
  const auto f = CardinalityFunction::Dcg(9, 0);
  ASSERT_OK_AND_ASSIGN(const Normaliser one, ScoreNormaliser(*f, 3, 20000, 1));
  ASSERT_OK_AND_ASSIGN(const Normaliser two, ScoreNormaliser(*f, 3, 200000, 2));
  EXPECT_GT(one.standard_error, 2 * two.standard_error);
  EXPECT_NEAR(one.value, two.value,
              4 * std::hypot(one.standard_error, two.standard_error));
}

TEST(ScoreNormaliserTest, NamesWhatIsWrong) {
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(2, 0), -1, 0, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("theta is -1, must be at least 0")));
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(8, 0), 1, 1, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("samples is 1, must be at least 2")));
}

}  // namespace
}  // namespace sortition
