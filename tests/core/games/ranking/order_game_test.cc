#include "core/games/ranking/order_game.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/core/invalid.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

// The number of pairs on which both orders agree, minus half the weight
// differences of the column's pairs.
double Payoff(const std::vector<double>& w, const GameAction& row,
              const GameAction& column) {
  const size_t n = w.size();
  std::vector<size_t> rank(n);
  for (size_t r = 0; r < n; ++r) rank[row[r]] = r;
  double payoff = 0;
  for (size_t r = 0; r < n; ++r) {
    for (size_t s = r + 1; s < n; ++s) {
      const int i = column[r];
      const int j = column[s];
      payoff += (rank[i] < rank[j] ? 1 : 0) - (w[i] - w[j]) / 2;
    }
  }
  return payoff;
}

std::vector<double> RandomWeights(int n, std::mt19937_64* random) {
  std::uniform_int_distribution<int> kind(0, 3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double spreads[] = {0.4, 1, 2, 8};
  const double spread = spreads[kind(*random)];
  const bool rounded = kind(*random) == 0;
  std::vector<double> w(n);
  for (double& weight : w) {
    weight = spread * uniform(*random);
    if (rounded) weight = std::round(weight * 4) / 4;
  }
  return w;
}

TEST(OrderGameTest, SumsOverPairs) {
  // Two pairs 0.9 apart count 1/2 each, one pair 1.8 apart counts 1 - 0.9.
  ASSERT_OK_AND_ASSIGN(const OrderGameValue chain,
                       SolveOrderGame(std::vector<double>{0, 0.9, 1.8}));
  EXPECT_NEAR(chain.guarantee, 1.1, 1e-15);
  EXPECT_FALSE(chain.exact);
  ASSERT_OK_AND_ASSIGN(const OrderGameValue groups,
                       SolveOrderGame(std::vector<double>{5, 0, 0.9, 4.5}));
  EXPECT_NEAR(groups.guarantee, 1 + 4 - (5 + 4.1 + 4.5 + 3.6) / 2, 1e-14);
  EXPECT_TRUE(groups.exact);
  EXPECT_EQ(SolveOrderGame({}).value().guarantee, 0);
}

TEST(OrderGameTest, IsTheValueOfTheWholeGame) {
  std::mt19937_64 random(51);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = trial < 15 ? 5 : 2 + trial % 3;
    const std::vector<double> w = RandomWeights(n, &random);
    OracleGame game;
    game.payoff = [&w](const GameAction& row, const GameAction& column) {
      return Payoff(w, row, column);
    };
    EXPECT_NEAR(SolveOrderGame(w).value().guarantee,
                ValueByEnumeration(game, AllOrders(n), AllOrders(n)), 1e-8);
  }
}

// Compares the closed form with the sum over pairs, and "exact" with a
// condition on groups.
TEST(OrderGameTest, FastSumIsTheSumOfPairs) {
  std::mt19937_64 random(52);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<double> w = RandomWeights(1 + trial % 40, &random);
    double sum = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        sum += std::min(0.5, 1 - std::abs(w[i] - w[j]) / 2);
      }
    }
    EXPECT_NEAR(SolveOrderGame(w).value().guarantee, sum,
                1e-13 * (1 + std::abs(sum)));
  }
}

TEST(BucketOrderTest, PropensitiesAddUpAndGiveEveryPairItsProbability) {
  std::mt19937_64 random(53);
  BucketOrder policy;
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 1 + trial % 6;
    const std::vector<double> w = RandomWeights(n, &random);
    ASSERT_OK(policy.Prepare(w));
    double total = 0;
    Eigen::MatrixXd before = Eigen::MatrixXd::Zero(n, n);
    for (const GameAction& order : AllOrders(n)) {
      const double p = std::exp(policy.LogPropensity(order));
      total += p;
      for (int r = 0; r < n; ++r) {
        for (int s = r + 1; s < n; ++s) before(order[r], order[s]) += p;
      }
    }
    EXPECT_NEAR(total, 1, 1e-13);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (i == j) continue;
        EXPECT_NEAR(before(i, j), PrecedenceProbability(w[i], w[j]), 1e-13);
      }
    }
  }
}

TEST(BucketOrderTest, DrawsAsOftenAsItSays) {
  const std::vector<double> w = {0.3, 0, 1.25, 0.7};
  BucketOrder policy;
  ASSERT_OK(policy.Prepare(w));
  std::map<GameAction, uint64_t> counts;
  constexpr int kDraws = 40000;
  GameAction order;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double log_p = policy.Draw(CounterRandom(SeedKey(draw)), &order);
    ASSERT_EQ(log_p, policy.LogPropensity(order));
    ++counts[order];
  }
  std::vector<uint64_t> observed;
  std::vector<double> probabilities;
  for (const GameAction& possible : AllOrders(4)) {
    observed.push_back(counts[possible]);
    probabilities.push_back(std::exp(policy.LogPropensity(possible)));
  }
  EXPECT_GT(ChiSquarePValue(observed, probabilities), 1e-4);
}

// 2000 items within 1 of each other at whole numbers make one bucket with n!
// orders: a probability would underflow, its logarithm does not. Weights may be
// large.
TEST(BucketOrderTest, LargeGamesStayInLogarithms) {
  BucketOrder policy;
  constexpr int kItems = 2000;
  ASSERT_OK(policy.Prepare(std::vector<double>(kItems, 7)));
  GameAction order(kItems);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_NEAR(policy.LogPropensity(order), -std::lgamma(kItems + 1.0), 1e-9);
  ASSERT_OK(policy.Prepare(std::vector<double>{1e300, -1e300, 0.5, 1e17}));
  EXPECT_EQ(policy.LogPropensity(GameAction{0, 3, 2, 1}), 0);
  EXPECT_EQ(policy.LogPropensity(GameAction{3, 0, 2, 1}), -HUGE_VAL);
}

TEST(BucketOrderTest, RefusesWhatIsNoWeight) {
  BucketOrder policy;
  const std::vector<double> w = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(policy.Prepare(w), IsInvalid(HasSubstr("w[1] is nan")));
  EXPECT_FALSE(SolveOrderGame(std::vector<double>{HUGE_VAL}).ok());
}

}  // namespace
}  // namespace sortition
