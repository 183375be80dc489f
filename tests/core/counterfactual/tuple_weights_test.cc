// Tuples that count as more or less than one: as many copies do.
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/likelihood_terms.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/unit_weights.h"
#include "core/counterfactual/weighted_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/counterfactual/toy_policy.h"
#include "tests/core/invalid.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// The same data twice: tuples of weight 1 to 3, and that many copies of each.
struct Pair {
  explicit Pair(uint64_t seed) : weighted(40, seed), copies(40, seed) {
    weighted.losses[7] = copies.losses[7] = 0;
    for (size_t i = 0; i < 40; ++i) {
      weighted.weights[i] = 1 + static_cast<double>(i % 3);
      for (size_t k = 0; k < i % 3; ++k) copies.Repeat(i);
    }
  }
  ToyPolicy weighted;
  ToyPolicy copies;
};

std::vector<std::unique_ptr<Risk>> RisksOfTuples() {
  std::vector<std::unique_ptr<Risk>> risks;
  risks.push_back(std::make_unique<CrmRisk>(*CrmRisk::Create(HUGE_VAL, 0)));
  risks.push_back(std::make_unique<CrmRisk>(*CrmRisk::Create(2, 3)));
  risks.push_back(
      std::make_unique<SelfNormalisedRisk>(*SelfNormalisedRisk::Create(2)));
  risks.push_back(
      std::make_unique<LogSmoothingRisk>(*LogSmoothingRisk::Create(0.3)));
  return risks;
}

void ExpectEqual(const Objective& one, const Objective& two,
                 const Eigen::VectorXd& point) {
  Eigen::VectorXd gradient(point.size());
  Eigen::VectorXd other(point.size());
  EXPECT_NEAR(one.Evaluate(point, &gradient), two.Evaluate(point, &other),
              1e-13);
  EXPECT_LT((gradient - other).norm(), 1e-12 * other.norm());
  EXPECT_LT((gradient - CentralDifferences(one, point)).norm(),
            1e-6 * gradient.norm());
}

TEST(TupleWeightsTest, MomentsAreThoseOfCopies) {
  const std::vector<double> values = {0.5, -2, 3, 3.25, 1};
  const std::vector<double> weights = {2, 1, 3, 1, 2};
  Moments each, block, copies;
  for (size_t i = 0; i < values.size(); ++i) {
    each.Add(values[i], weights[i]);
    for (int k = 0; k < weights[i]; ++k) copies.Add(values[i]);
  }
  block.Add(std::span(values).first(2), std::span(weights).first(2));
  block.Add(std::span(values).subspan(2), std::span(weights).subspan(2));
  for (const Moments& moments : {each, block}) {
    EXPECT_EQ(moments.count(), 5);
    EXPECT_EQ(moments.total(), 9);
    EXPECT_NEAR(moments.mean(), copies.mean(), 1e-15);
    EXPECT_NEAR(moments.variance(), copies.variance(), 1e-14);
  }
}

TEST(TupleWeightsTest, RisksAreThoseOfCopies) {
  for (const auto& risk : RisksOfTuples()) {
    Pair pair(1);
    ASSERT_OK_AND_ASSIGN(
        const auto one, RiskObjective::Create(&pair.weighted, risk.get(), 0.1));
    ASSERT_OK_AND_ASSIGN(const auto two,
                         RiskObjective::Create(&pair.copies, risk.get(), 0.1));
    ExpectEqual(one, two, Eigen::Vector2d(0.4, -0.8));
  }
}

TEST(TupleWeightsTest, TermsAreThoseOfCopies) {
  struct Case {
    TermFunction term;
    double lambda;
  };
  for (const Case& c : {Case{ClippedTerm(2), 3}, Case{ClippedTerm(HUGE_VAL), 0},
                        Case{LogSmoothedTerm(0.3), 0}}) {
    Pair pair(2);
    ASSERT_OK_AND_ASSIGN(
        auto few, WeightedTerms::Create(&pair.weighted, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(auto many,
                         WeightedTerms::Create(&pair.copies, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const auto one,
                         TermObjective::Create(&few, c.lambda, 0.1));
    ASSERT_OK_AND_ASSIGN(const auto two,
                         TermObjective::Create(&many, c.lambda, 0.1));
    ExpectEqual(one, two, Eigen::Vector2d(-0.3, 0.9));
  }
}

// Weights need not be integers: the gradient is that of the weighted value.
TEST(TupleWeightsTest, GradientsAreExactForAnyWeights) {
  for (const auto& risk : RisksOfTuples()) {
    ToyPolicy policy(50, 3);
    RandomSequence random(SeedKey(4));
    for (double& weight : policy.weights) weight = 0.05 + random.Uniform();
    ASSERT_OK_AND_ASSIGN(const auto objective,
                         RiskObjective::Create(&policy, risk.get(), 0.1));
    const Eigen::VectorXd point = Eigen::Vector2d(0.7, 0.2);
    Eigen::VectorXd gradient(2);
    objective.Evaluate(point, &gradient);
    EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
              1e-6 * gradient.norm());
  }
}

TEST(TupleWeightsTest, TheUnitOfLambdaIsThatOfCopies) {
  Pair pair(5);
  EXPECT_NEAR(*CalibratedLambda(pair.weighted), *CalibratedLambda(pair.copies),
              1e-12);
}

TEST(TupleWeightsTest, EstimatesAreThoseOfCopies) {
  const std::vector<double> rewards = {0, 0.5, 1, 0.25};
  const std::vector<double> log_weights = {0.3, -1, 1.2, 0};
  const std::vector<double> counts = {1, 3, 2, 4};
  OffPolicyEstimator weighted(2), copies(2);
  std::vector<double> copied_rewards, copied_weights;
  for (size_t i = 0; i < rewards.size(); ++i) {
    weighted.Add(rewards[i], log_weights[i], counts[i]);
    for (int k = 0; k < counts[i]; ++k) {
      copies.Add(rewards[i], log_weights[i]);
      copied_rewards.push_back(rewards[i]);
      copied_weights.push_back(log_weights[i]);
    }
  }
  const OffPolicyEstimates one = weighted.Estimate(0.5);
  const OffPolicyEstimates two = copies.Estimate(0.5);
  EXPECT_NEAR(one.improvement.lower, two.improvement.lower, 1e-13);
  EXPECT_NEAR(one.ips.upper, two.ips.upper, 1e-13);
  EXPECT_NEAR(one.snips.lower, two.snips.lower, 1e-13);
  EXPECT_NEAR(one.clipped_fraction, two.clipped_fraction, 1e-15);
  EXPECT_NEAR(one.effective_sample_size, two.effective_sample_size, 1e-12);
  EXPECT_EQ(ChooseEvaluationClip(rewards, log_weights, 1000, 0.9, counts),
            ChooseEvaluationClip(copied_rewards, copied_weights, 1000, 0.9));
}

TEST(TupleWeightsTest, WeightsThatAreNotPositiveOrTooFewAreErrors) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ToyPolicy policy(5, 6);
    policy.weights[3] = bad;
    EXPECT_THAT(ValidateCrm(policy, {}),
                IsInvalid(HasSubstr("weight of tuple 3 is")));
  }
  ToyPolicy policy(5, 6);
  policy.weights.assign(5, 0.2);
  EXPECT_THAT(ValidateCrm(policy, {}),
              IsInvalid(HasSubstr("add up to 1, must be at least 2")));
  // Two units of 47 decisions: 94 times 1/47 is not quite 2.
  ToyPolicy two_units(94, 6);
  two_units.weights.assign(94, 1.0 / 47);
  EXPECT_OK(ValidateCrm(two_units, {}));
}

// 16 units: √16 / 2 = 2 decisions at most. One has 10, one has 4 halves.
TEST(UnitWeightsTest, AUnitCountsAsHalfTheRootOfTheNumberOfUnits) {
  std::vector<uint64_t> units;
  std::vector<double> weights;
  for (uint64_t unit = 0; unit < 14; ++unit) {
    units.push_back(unit);
    weights.push_back(1);
  }
  units.insert(units.end(), 10, 14);
  weights.insert(weights.end(), 10, 1);
  units.insert(units.end(), 4, 15);
  weights.insert(weights.end(), 4, 0.5);
  const std::vector<double> shares = UnitWeights(units, weights);
  for (size_t i = 0; i < 14; ++i) EXPECT_EQ(shares[i], 1);
  for (size_t i = 14; i < 24; ++i) EXPECT_DOUBLE_EQ(shares[i], 0.2);
  for (size_t i = 24; i < 28; ++i) EXPECT_EQ(shares[i], 0.5);
}

TEST(UnitWeightsTest, FewUnitsCountAsOneDecisionAtLeast) {
  const std::vector<uint64_t> units = {1, 1, 2};
  EXPECT_THAT(UnitWeights(units, std::vector<double>(3, 1)),
              testing::ElementsAre(0.5, 0.5, 1));
}

// Every action of one context, which the policy at `logging` draws: the mean
// over its draws is a sum, and Σ π (log π - log h) is KL by definition.
TEST(LikelihoodTermsTest, EstimateTheDivergenceWithoutBias) {
  ToyPolicy policy(3, 7);
  policy.features[1] = policy.features[2] = policy.features[0];
  const Eigen::VectorXd logging = Eigen::Vector2d(1, -0.5);
  for (size_t i = 0; i < 3; ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  LikelihoodTerms terms(&policy);
  const Eigen::VectorXd point = Eigen::Vector2d(-2, 2);
  const std::vector<double> values = AllValues(point, &terms);
  double mean = 0;
  double divergence = 0;
  for (size_t i = 0; i < 3; ++i) {
    const double probability = std::exp(policy.log_propensities[i]);
    mean += probability * values[i];
    divergence += probability * (policy.log_propensities[i] -
                                 policy.LogProbability(point, i));
  }
  EXPECT_GT(divergence, 0.1);
  EXPECT_NEAR(mean, divergence, 1e-14);
  for (const double value : AllValues(logging, &terms)) {
    EXPECT_NEAR(value, 0, 1e-15);
  }
}

// A pull with a gradient of mean 0 there would be noise, which a large factor
// turns into steps away from what logged.
TEST(LikelihoodTermsTest, NoTuplePullsAtWhatLogged) {
  ToyPolicy policy(40, 9);
  const Eigen::VectorXd logging = Eigen::Vector2d(1, -0.5);
  for (uint32_t i = 0; i < 40; ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  LikelihoodTerms terms(&policy);
  for (uint32_t i = 0; i < 40; ++i) {
    double value = 0;
    terms.Values(logging, {&i, 1}, {&value, 1});
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(2);
    const double factor = 1;
    terms.AddGradient({&factor, 1}, &gradient);
    EXPECT_LT(gradient.norm(), 1e-14) << i;
  }
}

// ρ = 1/2, 2, 10 and 1000. Beyond 10 a term has the slope 9 of log ρ.
TEST(LikelihoodTermsTest, AreNeverNegativeAndGrowSlowlyForLargeWeights) {
  ToyPolicy policy(4, 10);
  const Eigen::VectorXd point = Eigen::Vector2d(0.5, -1);
  const std::vector<double> weights = {0.5, 2, 10, 1000};
  for (size_t i = 0; i < 4; ++i) {
    policy.log_propensities[i] =
        policy.LogProbability(point, i) - std::log(weights[i]);
  }
  LikelihoodTerms terms(&policy);
  const std::vector<double> values = AllValues(point, &terms);
  EXPECT_NEAR(values[0], std::log(2) - 0.5, 1e-14);
  EXPECT_NEAR(values[1], 1 - std::log(2), 1e-14);
  EXPECT_NEAR(values[2], 9 - std::log(10), 1e-13);
  EXPECT_NEAR(values[3], 9 - std::log(10) + 9 * std::log(100), 1e-13);
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       TermObjective::Create(&terms, 0, 0));
  Eigen::VectorXd gradient(2);
  objective.Evaluate(point, &gradient);
  // Just above 10 at the third, where the slope does not jump.
  EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
            1e-5 * gradient.norm());
}

TEST(LikelihoodTermsTest, GradientIsThatOfCentralDifferences) {
  ToyPolicy policy(40, 8);
  for (size_t i = 0; i < 40; ++i) policy.weights[i] = i % 2 == 0 ? 0.25 : 1;
  LikelihoodTerms terms(&policy);
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       TermObjective::Create(&terms, 0, 0));
  const Eigen::VectorXd point = Eigen::Vector2d(0.5, -1);
  Eigen::VectorXd gradient(2);
  objective.Evaluate(point, &gradient);
  EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
            1e-6 * gradient.norm());
}

}  // namespace
}  // namespace sortition
