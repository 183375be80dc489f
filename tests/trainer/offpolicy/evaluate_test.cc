#include "trainer/offpolicy/evaluate.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/offpolicy/overlap_report.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns a log with two candidates whose feature is 1 and 0, chosen by a fair
// coin. The first one earns 1 with probability 0.8, the second with 0.2.
std::vector<BanditTuple> CoinLog(int n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BanditTuple> tuples(n);
  for (BanditTuple& tuple : tuples) {
    tuple.values = {1, 0};
    tuple.num_features = 1;
    const bool first = random.Uniform() < 0.5;
    tuple.action = {first ? 0 : 1};
    tuple.log_propensity = std::log(0.5);
    tuple.loss = random.Uniform() < (first ? 0.8 : 0.2) ? -1 : 0;
  }
  return tuples;
}

class EvaluateTest : public testing::Test {
 protected:
  const LinearFamily family_{.num_features = 1};

  WeightedTuples Weighed(const std::vector<BanditTuple>& tuples) const {
    return *WeighLinear(family_, parameters_, tuples);
  }
  WeightedParts HeldOut() const {
    return {.train = {},
            .validation = Weighed(validation_),
            .test = Weighed(test_)};
  }
  WeightedParts MapHeldOut() const {
    return {.train = {},
            .validation = *WeighMap(family_, parameters_, validation_),
            .test = *WeighMap(family_, parameters_, test_)};
  }

  const std::vector<BanditTuple> train_ = CoinLog(2000, 1);
  const std::vector<BanditTuple> validation_ = CoinLog(2000, 2);
  std::vector<BanditTuple> test_ = CoinLog(2000, 3);
  // h(first) = 3/4: weights 1.5 and 0.5, reward 0.75 · 0.8 + 0.25 · 0.2 = 0.65.
  Eigen::VectorXd parameters_ = Eigen::VectorXd::Constant(1, std::log(3));
};

TEST_F(EvaluateTest, AHealthyLogHasNoFindings) {
  WeightedParts parts = HeldOut();
  parts.train = Weighed(train_);
  const auto evaluation =
      Evaluate({.parts = parts, .train_clip = 10, .num_policies = 3});
  EXPECT_EQ(evaluation.findings_size(), 0);
  const auto& overlap = evaluation.test_overlap();
  EXPECT_EQ(overlap.tuples(), 2000);
  // The standard deviation of the mean is 0.5/√2000 = 0.011.
  EXPECT_NEAR(overlap.mean_weight(), 1, 0.05);
  EXPECT_NEAR(overlap.mean_weight_error(), 0.0112, 1e-3);
  EXPECT_NEAR(overlap.largest_weight(), 1.5, 1e-12);
  // q = p: every weight of the uniform policy is 1.
  EXPECT_NEAR(overlap.uniform_mean_weight(), 1, 1e-12);
  EXPECT_NEAR(overlap.smallest_propensity(), 0.5, 1e-12);
  EXPECT_EQ(evaluation.train_overlap().clip(), 10);
  EXPECT_EQ(WithReservation("Well.", evaluation), "Well.");
  EXPECT_FALSE(ContradictsItself(evaluation));
  std::string text;
  AppendFindings(evaluation, &text);
  EXPECT_EQ(text, "");
}

TEST_F(EvaluateTest, BoundsAreBelowTheTruthAndNotVacuousOnSuchALog) {
  WeightedParts parts = HeldOut();
  const std::vector<BanditTuple> long_train = CoinLog(40000, 1);
  parts.train = Weighed(long_train);
  parts.validation = Weighed(CoinLog(20000, 2));
  parts.ball = LinearBall(family_, parameters_, long_train);
  // Rewards of -2 and 3: truth 5 · 0.65 - 2 = 1.25.
  const auto evaluation = Evaluate(
      {.parts = parts, .reward_min = -2, .reward_max = 3, .num_policies = 9});
  ASSERT_EQ(evaluation.bounds_size(), 3);
  for (const auto& bound : evaluation.bounds()) {
    EXPECT_LT(bound.lower(), 1.25) << bound.method();
    EXPECT_GT(bound.lower(), -2) << bound.method();
    EXPECT_FALSE(bound.vacuous());
    EXPECT_NEAR(bound.confidence(), 0.975, 1e-12);
  }
  EXPECT_EQ(evaluation.bounds(0).method(), "log_smoothing");
  EXPECT_EQ(evaluation.bounds(0).part(), "test");
  EXPECT_GT(evaluation.bounds(0).lambda(), 0);
  EXPECT_EQ(evaluation.bounds(1).part(), "validation");
  EXPECT_NEAR(evaluation.bounds(1).log_capacity(), std::log(9), 1e-12);
  // D = 1, k = 1, X = 1, ‖w‖ = 1.1 in the ball of radius 2, n = 40000.
  EXPECT_EQ(evaluation.bounds(2).part(), "train");
  EXPECT_NEAR(evaluation.bounds(2).log_capacity(), std::log(320001), 1e-9);
  std::string text;
  AppendBounds(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("Theorem 3, validation part, any of 9 policies"));
  EXPECT_THAT(text, Not(HasSubstr("says nothing")));
}

TEST_F(EvaluateTest, FewTuplesMakeVacuousBoundsThatSaySo) {
  WeightedParts parts = HeldOut();
  parts.validation = Weighed(CoinLog(100, 2));
  const auto evaluation = Evaluate({.parts = parts, .num_policies = 9});
  ASSERT_EQ(evaluation.bounds_size(), 2);
  EXPECT_EQ(evaluation.bounds(1).lower(), 0);
  EXPECT_TRUE(evaluation.bounds(1).vacuous());
  std::string text;
  AppendBounds(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("says nothing"));
}

TEST_F(EvaluateTest, MapTakesTheFirstAlways) {
  const auto evaluation = Evaluate({.parts = MapHeldOut()});
  // Weights 2 and 0; reward 0.8, deviation of the mean below 0.025.
  EXPECT_NEAR(evaluation.snips_reward().value(), 0.8, 0.08);
  EXPECT_EQ(evaluation.test_overlap().largest_weight(), 2);
  EXPECT_EQ(evaluation.test_overlap().median_weight() *
                (2 - evaluation.test_overlap().median_weight()),
            0);
  // If the actions were not shown, the weights are 0 for any policy.
  for (BanditTuple& tuple : test_) tuple.action_shown = false;
  const auto hidden = Evaluate({.parts = MapHeldOut()});
  EXPECT_EQ(hidden.test_overlap().largest_weight(), 0);
  EXPECT_EQ(hidden.findings(0).kind(), "shown_otherwise");
}

TEST_F(EvaluateTest, WrongPropensitiesAreAContradiction) {
  // A fair coin was logged with probability 1/4: q/p = 2.
  for (BanditTuple& tuple : test_) tuple.log_propensity = std::log(0.25);
  const auto evaluation = Evaluate({.parts = HeldOut()});
  EXPECT_TRUE(ContradictsItself(evaluation));
  EXPECT_THAT(WithReservation("Not published.", evaluation),
              testing::StartsWith("Not published. Note: The logged "
                                  "propensities cannot be right: "));
  std::string text;
  AppendFindings(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("test part: The logged propensities cannot"));
}

TEST_F(EvaluateTest, WhatIsWrongWithTrainingOnlyIsNoReservation) {
  WeightedParts parts = HeldOut();
  parts.train = Weighed(CoinLog(50, 4));
  const auto evaluation = Evaluate({.parts = parts, .train_clip = 10});
  ASSERT_EQ(evaluation.findings_size(), 1);
  EXPECT_EQ(evaluation.findings(0).part(), "train");
  EXPECT_EQ(evaluation.findings(0).gravity(), model::v1::Finding::UNSUPPORTED);
  EXPECT_EQ(WithReservation("Well.", evaluation), "Well.");
}

}  // namespace
}  // namespace sortition
