#include "core/policies/distributions/boltzmann_orders.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

using Order = std::vector<int32_t>;

double RankWeight(size_t r) {
  return std::log(2) / std::log(static_cast<double>(r) + 2);
}

struct Model {
  std::vector<double> weights;  // By rank.
  std::vector<double> scores;

  double LogWeight(const Order& order) const {
    double sum = 0;
    for (size_t r = 0; r < order.size(); ++r) {
      sum += weights[r] * scores[order[r]];
    }
    return sum;
  }
};

Model RandomModel(std::mt19937_64* random, size_t n, double scale) {
  std::normal_distribution<double> normal(0, scale);
  Model model;
  for (size_t r = 0; r < n; ++r) {
    model.weights.push_back(RankWeight(r));
    model.scores.push_back((*random)() % 4 == 0 ? 0 : normal(*random));
  }
  return model;
}

std::vector<Order> AllOrders(size_t n) {
  Order order(n);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Order> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

double LogPropensity(const BoltzmannOrders& orders, const Order& order) {
  std::vector<double> conditionals;
  orders.ConditionalLogPropensities(order, &conditionals);
  return std::accumulate(conditionals.begin(), conditionals.end(), 0.0);
}

TEST(BoltzmannOrdersTest, EqualsEnumeration) {
  std::mt19937_64 random(1);
  BoltzmannOrders boltzmann;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const size_t n = 1 + random() % 6;
    const Model model = RandomModel(&random, n, 3);
    boltzmann.Build(model.weights, model.scores);
    const std::vector<Order> orders = AllOrders(n);
    double total = 0;
    for (const Order& order : orders) total += std::exp(model.LogWeight(order));
    EXPECT_NEAR(boltzmann.LogPartition(), std::log(total), 1e-12);
    double sum = 0;
    std::vector<double> expected_weights(n);
    for (const Order& order : orders) {
      const double log_p = model.LogWeight(order) - std::log(total);
      ASSERT_NEAR(LogPropensity(boltzmann, order), log_p, 1e-12);
      sum += std::exp(LogPropensity(boltzmann, order));
      for (size_t r = 0; r < n; ++r) {
        expected_weights[order[r]] += std::exp(log_p) * model.weights[r];
      }
    }
    EXPECT_NEAR(sum, 1, 1e-13);
    std::vector<double> found(n);
    boltzmann.ExpectedRankWeights(found);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(found[i], expected_weights[i], 1e-13);
    }
  }
}

TEST(BoltzmannOrdersTest, ProbabilitiesOfTenItemsSumToOne) {
  std::mt19937_64 random(2);
  const Model model = RandomModel(&random, 10, 2);
  BoltzmannOrders boltzmann;
  boltzmann.Build(model.weights, model.scores);
  const double log_z = boltzmann.LogPartition();
  double sum = 0;
  Order order(10);
  std::iota(order.begin(), order.end(), 0);
  do {
    sum += std::exp(model.LogWeight(order) - log_z);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(LogPropensity(boltzmann, order), model.LogWeight(order) - log_z,
              1e-12);
}

// The first ranks have the probability of all orders that begin with them.
TEST(BoltzmannOrdersTest, PrefixesHaveTheirMarginals) {
  std::mt19937_64 random(3);
  const Model model = RandomModel(&random, 5, 3);
  BoltzmannOrders boltzmann;
  boltzmann.Build(model.weights, model.scores);
  std::map<Order, double> by_prefix;
  for (const Order& order : AllOrders(5)) {
    by_prefix[{order[0], order[1]}] +=
        std::exp(LogPropensity(boltzmann, order));
  }
  for (const auto& [prefix, probability] : by_prefix) {
    EXPECT_NEAR(std::exp(LogPropensity(boltzmann, prefix)), probability, 1e-14);
  }
}

TEST(BoltzmannOrdersTest, DrawsWhatItSaysAndReplaysIt) {
  std::mt19937_64 random(4);
  const Model model = RandomModel(&random, 4, 1.5);
  BoltzmannOrders boltzmann;
  boltzmann.Build(model.weights, model.scores);
  std::map<Order, uint64_t> counts;
  constexpr int kDraws = 100000;
  RandomSequence numbers(SeedKey(1));
  Order order;
  std::vector<double> conditionals;
  std::vector<double> again;
  for (int draw = 0; draw < kDraws; ++draw) {
    double rank_numbers[4];
    for (double& number : rank_numbers) number = numbers.Uniform();
    boltzmann.Draw(rank_numbers, &order, &conditionals);
    ++counts[order];
    boltzmann.ConditionalLogPropensities(order, &again);
    ASSERT_EQ(again, conditionals);
  }
  std::vector<double> probabilities;
  std::vector<uint64_t> observed;
  for (const Order& each : AllOrders(4)) {
    probabilities.push_back(std::exp(LogPropensity(boltzmann, each)));
    observed.push_back(counts[each]);
  }
  EXPECT_GT(ChiSquarePValue(observed, probabilities), 1e-4);
}

TEST(BoltzmannOrdersTest, KeepsItsDigitsWhereScoresAreFarApart) {
  BoltzmannOrders boltzmann;
  std::vector<double> weights(16);
  std::vector<double> scores(16);
  for (int r = 0; r < 16; ++r) {
    weights[r] = RankWeight(r);
    scores[r] = r % 2 == 0 ? 1e4 - 40 * r : -1e4 + r;
  }
  boltzmann.Build(weights, scores);
  Order falling(16);
  std::iota(falling.begin(), falling.end(), 0);
  std::sort(falling.begin(), falling.end(),
            [&](int32_t i, int32_t j) { return scores[i] > scores[j]; });
  // The most probable of 16! orders.
  EXPECT_GT(LogPropensity(boltzmann, falling), -std::lgamma(17.0));
  Order reversed(falling.rbegin(), falling.rend());
  const Model model = {weights, scores};
  // -log of the ratio of the two, which needs no Z.
  EXPECT_NEAR(
      LogPropensity(boltzmann, reversed) - LogPropensity(boltzmann, falling),
      model.LogWeight(reversed) - model.LogWeight(falling), 1e-9);
  // Two items: p = 1 / (1 + exp(-T)), T = (1 - log 2 / log 3) · 60.
  boltzmann.Build(std::span(weights).first(2), std::vector<double>{0, 60});
  std::vector<double> conditionals;
  boltzmann.ConditionalLogPropensities(Order{1, 0}, &conditionals);
  EXPECT_NEAR(conditionals[0], -std::log1p(std::exp(-60 * (1 - RankWeight(1)))),
              1e-22);
  EXPECT_EQ(conditionals[1], 0);
}

TEST(BoltzmannOrdersTest, EqualRankWeightsAreUniform) {
  BoltzmannOrders boltzmann;
  boltzmann.Build(std::vector<double>(7, 0.3),
                  std::vector<double>{5, -3, 2, 0, 0, 9, 1});
  EXPECT_NEAR(LogPropensity(boltzmann, {6, 0, 5, 1, 4, 2, 3}),
              -std::lgamma(8.0), 1e-13);
}

}  // namespace
}  // namespace sortition
