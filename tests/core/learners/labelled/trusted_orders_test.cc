#include "core/learners/labelled/trusted_orders.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::OrderDivergence;
using testing::Each;
using testing::HasSubstr;

std::vector<double> RandomWeights(RandomSequence* random) {
  std::vector<double> weights(3);
  for (double& weight : weights) weight = random->Normal();
  return weights;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(TrustedOrdersTest, IsTheMeanDivergenceByDefinitionAndItsSlope) {
  RandomSequence random(SeedKey(11));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestQueries queries = RandomQueries({}, seed);
    const std::vector<Order> orders = RandomOrders(queries, seed);
    for (const TrustedKind& of : TrustedKinds()) {
      ASSERT_OK_AND_ASSIGN(
          const TrustedOrders trusted,
          TrustedOrders::Create(queries.views(), orders, of.kind, of.cutoff));
      const auto value = [&](const std::vector<double>& weights) {
        return MeanByDefinition(queries, orders, of, weights);
      };
      const std::vector<double> weights = RandomWeights(&random);
      std::vector<double> slope = {1, 2, 3};  // The function adds to it.
      const double mean = trusted.AddMean(2.5, weights, slope);
      EXPECT_NEAR(mean, 2.5 * value(weights), 1e-12 * (1 + mean));
      EXPECT_NEAR(trusted.Measure(weights).divergence, value(weights),
                  1e-12 * (1 + mean));
      for (int j = 0; j < 3; ++j) slope[j] = (slope[j] - (j + 1)) / 2.5;
      // Numeric slopes: D is linear near weights without ties.
      for (int j = 0; j < 3; ++j) {
        constexpr double kStep = 1e-7;
        std::vector<double> up = weights, down = weights;
        up[j] += kStep;
        down[j] -= kStep;
        EXPECT_NEAR(slope[j], (value(up) - value(down)) / (2 * kStep), 1e-5);
      }
      // A plane through 0 that is below D everywhere and touches it here.
      EXPECT_NEAR(Dot(slope, weights), value(weights), 1e-12 * (1 + mean));
      for (int trial = 0; trial < 20; ++trial) {
        const std::vector<double> other = RandomWeights(&random);
        EXPECT_LE(Dot(slope, other), value(other) + 1e-12);
      }
    }
  }
}

// Scores that agree with the orders, ties included, cost nothing.
TEST(TrustedOrdersTest, TiesAreAsTheTrustedOrderHasThem) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const TestQueries queries = RandomQueries({.rounded = true}, seed);
    ASSERT_OK_AND_ASSIGN(
        const TrustedOrders trusted,
        TrustedOrders::Create(queries.views(), RandomOrders(queries, seed),
                              OrderDivergence::DCG, 0));
    std::vector<double> slope(3);
    EXPECT_EQ(trusted.AddMean(1, std::vector<double>(3), slope), 0);
    EXPECT_THAT(slope, Each(0));
    EXPECT_EQ(trusted.Measure(std::vector<double>(3)).inverted_pairs, 0);
  }
}

// Scores 3, 1, 2 and the order 1, 0, 2: of the pairs, only (0, 2) agrees. The
// divergence is the DCG of the scores' own order minus that of 1, 0, 2: 3 + 2 /
// log2(3) + 1/2 - (1 + 3 / log2(3) + 2/2). The other query has no pair, but
// counts in the mean of the divergence.
TEST(TrustedOrdersTest, MeasuresByHand) {
  TestQueries queries;
  queries.Add({3, 1, 2}, {0, 0, 0});
  queries.Add({5}, {0});
  ASSERT_OK_AND_ASSIGN(const TrustedOrders trusted,
                       TrustedOrders::Create(queries.views(), {{1, 0, 2}, {0}},
                                             OrderDivergence::DCG, 0));
  const auto distance = trusted.Measure(std::vector<double>{1});
  EXPECT_NEAR(distance.divergence, (1.5 - 1 / std::log2(3.0)) / 2, 1e-12);
  EXPECT_NEAR(distance.inverted_pairs, 2.0 / 3, 1e-12);
  // Twice the scores are twice as far from the orders, in the same order.
  const auto twice = trusted.Measure(std::vector<double>{2});
  EXPECT_NEAR(twice.divergence, 2 * distance.divergence, 1e-12);
  EXPECT_EQ(twice.inverted_pairs, distance.inverted_pairs);
}

TEST(TrustedOrdersTest, RefusesWhatIsNoOrder) {
  TestQueries queries;
  queries.Add({3, 1, 2}, {0, 0, 0});
  const auto create = [&](std::vector<Order> orders, OrderDivergence::Kind kind,
                          uint32_t cutoff) {
    return TrustedOrders::Create(queries.views(), std::move(orders), kind,
                                 cutoff);
  };
  EXPECT_THAT(
      create({}, OrderDivergence::DCG, 0),
      StatusIs(kInvalidArgument, HasSubstr("0 trusted orders for 1 queries")));
  EXPECT_THAT(
      create({{0, 1}}, OrderDivergence::DCG, 0),
      StatusIs(kInvalidArgument, HasSubstr("query 0: order has 2 items")));
  EXPECT_THAT(create({{0, 1, 1}}, OrderDivergence::DCG, 0),
              StatusIs(kInvalidArgument, HasSubstr("query 0: order[2] is 1")));
  EXPECT_THAT(create({{0, 1, 2}}, OrderDivergence::TOP, 0),
              StatusIs(kInvalidArgument, HasSubstr("cutoff")));
  EXPECT_THAT(create({{0, 1, 2}}, OrderDivergence::ALL_PAIRS, 2),
              StatusIs(kInvalidArgument, HasSubstr("cutoff")));
  EXPECT_THAT(TrustedOrders::Create({}, {}, OrderDivergence::DCG, 0),
              StatusIs(kInvalidArgument, HasSubstr("must be one each")));
}

}  // namespace
}  // namespace sortition
