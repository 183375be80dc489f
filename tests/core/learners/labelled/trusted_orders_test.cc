#include "core/learners/labelled/trusted_orders.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/learners/hinge/hinge_learner.h"
#include "core/learners/learners.h"
#include "core/learners/orders/order_learners.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/hinge.pb.h"
#include "sortition/config/v1/orders.pb.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;
using config::v1::ListNetOptions;
using config::v1::OrderDivergence;
using config::v1::RankSvmOptions;
using config::v1::RegressionOptions;
using testing::Each;

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
  EXPECT_THAT(create({}, OrderDivergence::DCG, 0),
              IsInvalidArgument("0 trusted orders for 1 queries"));
  EXPECT_THAT(create({{0, 1}}, OrderDivergence::DCG, 0),
              IsInvalidArgument("query 0: order has 2 items"));
  EXPECT_THAT(create({{0, 1, 1}}, OrderDivergence::DCG, 0),
              IsInvalidArgument("query 0: order[2] is 1"));
  EXPECT_THAT(create({{0, 1, 2}}, OrderDivergence::TOP, 0),
              IsInvalidArgument("cutoff"));
  EXPECT_THAT(create({{0, 1, 2}}, OrderDivergence::ALL_PAIRS, 2),
              IsInvalidArgument("cutoff"));
  EXPECT_THAT(TrustedOrders::Create({}, {}, OrderDivergence::DCG, 0),
              IsInvalidArgument("must be one each"));
}

// When the grid of weights uses a trusted order, and which learners refuse one.

// Queries of twelve features. Labels follow the scores of these weights, which
// have standard deviation 2.7, plus `noise`.
constexpr uint32_t kWide = 12;
const std::vector<double> kWideTruth = {1, -.5, 1, -.5, 1, -.5,
                                        1, -.5, 1, -.5, 1, -.5};

TestQueries WideQueries(int num_queries, double noise, uint64_t seed) {
  return RandomQueries({.num_queries = num_queries,
                        .most_items = 12,
                        .num_features = kWide,
                        .max_relevance = 2,
                        .noise = noise},
                       seed);
}

std::unique_ptr<LabelledLearner> WideLearner(const std::string& name) {
  const LabelledShape shape{.num_features = kWide, .max_relevance = 2};
  RankSvmOptions rank_svm;
  HingeOptions hinge;
  ListNetOptions list_net;
  RegressionOptions regression;
  for (const double lambda : {0.3, 0.03, 0.003}) {
    rank_svm.add_lambda(lambda);
    hinge.add_lambda(lambda);
    list_net.add_lambda(lambda);
    regression.add_l2(100 * lambda);
  }
  if (name == "ranksvm") return *MakeRankSvmLearner(rank_svm, shape);
  if (name == "hinge") return *MakeHingeLearner(hinge, shape);
  if (name == "listnet") return *MakeListNetLearner(list_net, shape);
  return *MakeRegressionLearner(regression, shape);
}

// The learner trains on ten queries whose labels are mostly noise; validation
// and test have a hundred queries each without noise. The true order of the ten
// says more than their labels, so scores pulled to it must earn more, by the
// mean over three draws of the data. The reversed order contradicts the
// validation labels, so its weight must be 0, and the weights must be those
// without orders.
TEST(TrustedChoiceTest, AGoodOrderHelpsFewLabelsAndABadOneIsLeft) {
  for (const char* name : {"ranksvm", "hinge", "listnet", "regression"}) {
    SCOPED_TRACE(name);
    const auto learner = WideLearner(name);
    double plainly = 0, pulled = 0, best = 0;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const TestQueries training = WideQueries(10, 6, 30 + seed);
      const TestQueries validation = WideQueries(100, 0, 40 + seed);
      const TestQueries test = WideQueries(100, 0, 50 + seed);
      const std::vector<Order> good = OrdersBy(training, kWideTruth);
      std::vector<Order> bad = good;
      for (Order& order : bad) std::reverse(order.begin(), order.end());
      LabelledTask task{.training = training.views(),
                        .validation = validation.views()};
      const LabelledResult plain = *learner->Train(task);
      task.trusted_weights = {30, 0, 3};
      const auto with = [&](const std::vector<Order>& orders) {
        const TrustedOrders trusted =
            TrustedOf(training, orders, {OrderDivergence::DCG, 0});
        task.trusted_orders = &trusted;
        return *learner->Train(task);
      };
      const LabelledResult helped = with(good);
      ASSERT_EQ(helped.points.size(), 3 * learner->num_points());
      // The grid begins with the smallest weight, so that ties go to it.
      EXPECT_EQ(helped.points[0].setting, "trusted order weight 0");
      const LabelledResult misled = with(bad);
      EXPECT_EQ(misled.points[misled.chosen].setting, "trusted order weight 0");
      EXPECT_EQ(misled.weights, plain.weights);
      const auto tested = [&](const std::vector<double>& weights) {
        return MeanByScore(learner->measure(), test.views(), weights) / 3;
      };
      plainly += tested(plain.weights);
      pulled += tested(helped.weights);
      best += tested(kWideTruth);
    }
    // At least a fifth of the distance to the best.
    EXPECT_GT(pulled, plainly + 0.2 * (best - plainly));
  }
}

TEST(TrustedChoiceTest, OthersRefuse) {
  const TestQueries queries =
      RandomQueries({.num_queries = 15, .max_relevance = 2}, 9);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 9), TrustedKinds()[0]);
  LabelledTask task{.training = queries.views(),
                    .validation = queries.views(),
                    .trusted_orders = &trusted,
                    .trusted_weights = {1}};
  int trusting = 0, others = 0;
  for (const LearnerInfo& info : ListLearners()) {
    if (info.make_labelled == nullptr) continue;
    SCOPED_TRACE(std::string(info.name));
    ASSERT_OK_AND_ASSIGN(
        const auto learner,
        info.make_labelled(config::v1::TrainOptions(), kShape));
    if (learner->trusts_orders()) {
      ++trusting;
      continue;
    }
    ++others;
    EXPECT_THAT(learner->Train(task),
                IsInvalidArgument("there are trusted orders, must be none"));
  }
  EXPECT_EQ(trusting, 4);
  EXPECT_GE(others, 4);
  const auto learner = *MakeRankSvmLearner(RankSvmOptions(), kShape);
  task.trusted_weights = {};
  EXPECT_THAT(learner->Train(task),
              IsInvalidArgument("0 weights, must have at least 1"));
  task.trusted_weights = {1, -1};
  EXPECT_THAT(learner->Train(task),
              IsInvalidArgument("is -1, must be at least 0 and finite"));
  task.trusted_weights = {1};
  const TestQueries fewer = RandomQueries({.num_queries = 3}, 1);
  const TrustedOrders of_fewer =
      TrustedOf(fewer, RandomOrders(fewer, 1), TrustedKinds()[0]);
  task.trusted_orders = &of_fewer;
  EXPECT_THAT(learner->Train(task),
              IsInvalidArgument("3 trusted orders for 15 training queries"));
}

}  // namespace
}  // namespace sortition
