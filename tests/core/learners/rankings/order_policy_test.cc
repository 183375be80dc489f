#include "core/learners/rankings/order_policy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class OrderPolicyTest : public testing::TestWithParam<double> {};

TEST_P(OrderPolicyTest, ConditionalsAreThoseThatAreServed) {
  const RankedTuples data(GetParam(), 40, 1);
  ASSERT_OK_AND_ASSIGN(OrderPolicy policy, OrderPolicy::Create(data.Log()));
  RandomSequence random(SeedKey(2));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  for (size_t i = 0; i < data.tuples.size(); ++i) {
    const Action shown(data.Log().shown(i).begin(), data.Log().shown(i).end());
    const std::vector<double> expected =
        ServedConditionals(data.family, ScoresOf(data.tuples[i], w), shown);
    std::vector<double> conditionals(shown.size());
    policy.LogConditionals(w, i, conditionals);
    for (size_t k = 0; k < shown.size(); ++k) {
      EXPECT_NEAR(conditionals[k], expected[k], 1e-13) << i << " " << k;
    }
  }
}

// A prefix is as probable as all orders that begin with it.
TEST_P(OrderPolicyTest, PrefixesAreSumsOverOrders) {
  RandomSequence random(SeedKey(3));
  const LinearFamily family = RankFamily(2, GetParam());
  const std::vector<double> scores = {0.3, -1.2, 2.5, 0};
  PrefixLaw law(GetParam());
  const Action order = {2, 0, 3, 1};
  ASSERT_TRUE(law.Evaluate(scores, order));
  for (size_t r = 0; r <= 4; ++r) {
    double sum = 0;
    for (const Action& whole : AllOrders(4, 4)) {
      if (!std::equal(order.begin(), order.begin() + r, whole.begin()))
        continue;
      sum += ServedProbability(family, scores, whole);
    }
    EXPECT_NEAR(std::exp(law.log_prefix(r)), sum, 1e-14);
  }
}

// Differences of log-prefixes, weighed at random, against the gradient.
TEST_P(OrderPolicyTest, GradientIsThatOfCentralDifferences) {
  const RankedTuples data(GetParam(), 30, 4);
  ASSERT_OK_AND_ASSIGN(OrderPolicy policy, OrderPolicy::Create(data.Log()));
  RandomSequence random(SeedKey(5));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  std::vector<uint32_t> tuples, depths;
  std::vector<double> factors;
  for (uint32_t i = 0; i < data.tuples.size(); ++i) {
    tuples.push_back(i);
    depths.push_back(static_cast<uint32_t>(data.ranks[i].num_shown()));
    for (uint32_t r = 0; r < depths.back(); ++r) {
      factors.push_back(random.Normal());
    }
  }
  std::vector<double> values(factors.size());
  const auto value = [&](const Eigen::VectorXd& at) {
    policy.LogPrefixes(at, tuples, depths, values);
    double sum = 0;
    for (size_t j = 0; j < values.size(); ++j) sum += factors[j] * values[j];
    return sum;
  };
  value(w);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(w.size());
  policy.AddGradient(factors, &gradient);
  for (Eigen::Index j = 0; j < w.size(); ++j) {
    Eigen::VectorXd above = w, below = w;
    above[j] += 1e-5;
    below[j] -= 1e-5;
    EXPECT_NEAR(gradient[j], (value(above) - value(below)) / 2e-5,
                1e-7 * (1 + gradient.norm()));
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, OrderPolicyTest,
                         testing::Values(0.0, 0.2, 1.0));

TEST(PrefixLawTest, StaysExactAtExtremeLogits) {
  PrefixLaw law(0.1);
  const std::vector<double> scores = {1e4, -1e4, 0};
  const Action order = {1, 2, 0};
  ASSERT_TRUE(law.Evaluate(scores, order));
  // The policy has no part in it: ε (n-r)!/n!.
  EXPECT_NEAR(law.log_prefix(1), std::log(0.1 / 3), 1e-14);
  EXPECT_NEAR(law.log_prefix(3), std::log(0.1 / 6), 1e-14);
  std::vector<double> gradient(3, 0);
  law.AddGradient(std::vector<double>{0, 1, 1, 1}, {}, gradient);
  EXPECT_EQ(gradient, std::vector<double>(3, 0));
  EXPECT_FALSE(law.Evaluate(std::vector<double>{1e10, 0, 0}, order));
  EXPECT_EQ(law.log_prefix(1), -HUGE_VAL);
}

TEST(RankedLogTest, NamesWhatIsOutOfRange) {
  RankedTuples data(0.1, 5, 6);
  data.ranks[2].losses[0] = 1.5;
  EXPECT_THAT(OrderPolicy::Create(data.Log()),
              IsInvalidArgument("losses of tuple 2 has 1.5, must be "
                                "in [-1, 1]"));
  data.ranks[2].losses[0] = 0;
  data.ranks[1].log_conditionals[0] = -HUGE_VAL;
  EXPECT_THAT(OrderPolicy::Create(data.Log()),
              IsInvalidArgument("log_conditionals of tuple 1"));
  data.ranks[1].log_conditionals.pop_back();
  EXPECT_THAT(OrderPolicy::Create(data.Log()),
              IsInvalidArgument("entries, must have"));
  data.ranks.pop_back();
  EXPECT_THAT(OrderPolicy::Create(data.Log()),
              IsInvalidArgument("ranks: there are those of 4"));
  data.family.boltzmann.emplace();
  EXPECT_THAT(OrderPolicy::Create(data.Log()),
              IsInvalidArgument("family is not Plackett-Luce"));
}

}  // namespace
}  // namespace sortition
