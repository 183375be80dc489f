#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/risks.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/counterfactual/weighted_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/toy_policy.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kBeta = 0.6;
constexpr double kClip = 1.4;
constexpr double kLambda = 0.3;

// Says what it is asked for, each with a value of its own.
class RecordingPolicy : public ToyPolicy {
 public:
  using ToyPolicy::ToyPolicy;
  double reward(size_t i) const override {
    return 0.5 + 0.01 * static_cast<double>(i);
  }
  std::optional<EntryGroups> Entries(
      std::span<const uint32_t> tuples) override {
    asked.assign(tuples.begin(), tuples.end());
    return groups;
  }
  size_t value_block_size() const override { return 2 * block_size(); }
  void Prefetch(std::span<const uint32_t> tuples) const override {
    fetched.assign(tuples.begin(), tuples.end());
  }

  EntryGroups groups;
  std::vector<uint32_t> asked;
  mutable std::vector<uint32_t> fetched;
};

TEST(SmoothedPropensitiesTest, NothingElseOfThePolicyChanges) {
  RecordingPolicy policy(10, 1);
  policy.weights[3] = 2.5;
  SmoothedPropensities smoothed(&policy, kBeta);
  EXPECT_EQ(smoothed.num_tuples(), 10);
  EXPECT_EQ(smoothed.dimension(), policy.dimension());
  EXPECT_EQ(smoothed.block_size(), policy.block_size());
  EXPECT_EQ(smoothed.weight(3), 2.5);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(smoothed.loss(i), policy.loss(i));
    EXPECT_EQ(smoothed.reward(i), policy.reward(i));
    EXPECT_NEAR(std::exp(smoothed.log_propensity(i)),
                std::pow(std::exp(policy.log_propensity(i)), kBeta), 1e-15);
  }
  EXPECT_EQ(smoothed.value_block_size(), policy.value_block_size());
  EXPECT_TRUE(smoothed.Entries(std::vector<uint32_t>{1, 4}).has_value());
  EXPECT_THAT(policy.asked, ElementsAre(1, 4));
  smoothed.Prefetch(std::vector<uint32_t>{2, 5});
  EXPECT_THAT(policy.fetched, ElementsAre(2, 5));
}

// Objectives of weights h / p^β, written out.
TEST(SmoothedPropensitiesTest, ObjectivesAreThoseOfPowersOfThePropensities) {
  ToyPolicy policy(50, 2);
  policy.losses[7] = 0;
  policy.weights[4] = 1.5;
  SmoothedPropensities smoothed(&policy, kBeta);
  const Eigen::VectorXd point = Eigen::Vector2d(0.4, -0.8);
  Moments clipped, logarithms, losses, weights;
  for (size_t i = 0; i < 50; ++i) {
    const double weight = std::exp(policy.LogProbability(point, i)) /
                          std::pow(std::exp(policy.log_propensities[i]), kBeta);
    const double loss = policy.losses[i];
    const double count = policy.weights[i];
    clipped.Add(loss * std::fmin(kClip, weight), count);
    logarithms.Add(-std::log(1 - kLambda * loss * weight) / kLambda, count);
    losses.Add(loss * weight, count);
    weights.Add(weight, count);
  }
  struct Case {
    TermFunction term;
    double lambda;
    double expected;
  };
  for (const Case& c :
       {Case{ClippedTerm(kClip), kLambda,
             clipped.mean() +
                 kLambda * std::sqrt(clipped.variance() / clipped.total())},
        Case{ClippedTerm(HUGE_VAL), 0, losses.mean()},
        Case{LogSmoothedTerm(kLambda), 0, logarithms.mean()}}) {
    ASSERT_OK_AND_ASSIGN(WeightedTerms terms,
                         WeightedTerms::Create(&smoothed, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                         TermObjective::Create(&terms, c.lambda, 0));
    Eigen::VectorXd gradient(2);
    EXPECT_NEAR(objective.Evaluate(point, &gradient), c.expected, 1e-13);
    EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
              1e-6 * gradient.norm());
  }
  const SelfNormalisedRisk risk = *SelfNormalisedRisk::Create(0);
  ASSERT_OK_AND_ASSIGN(const RiskObjective normalised,
                       RiskObjective::Create(&smoothed, &risk, 0));
  Eigen::VectorXd gradient(2);
  EXPECT_NEAR(normalised.Evaluate(point, &gradient),
              losses.mean() / weights.mean(), 1e-13);
  EXPECT_LT((gradient - CentralDifferences(normalised, point)).norm(),
            1e-6 * gradient.norm());
}

// The weights of the policy that logged are p^(1-β): λ* is where mean + λ*
// √(V/n) of its terms is 0.
TEST(SmoothedPropensitiesTest, LambdaZeroesTheObjectiveOfTheLoggingPolicy) {
  ToyPolicy policy(30, 4);
  const Eigen::VectorXd logging = Eigen::Vector2d(0.5, 0.5);
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  SmoothedPropensities smoothed(&policy, kBeta);
  ASSERT_OK_AND_ASSIGN(const double lambda, CalibratedLambda(policy, kBeta));
  ASSERT_OK_AND_ASSIGN(const double plain, CalibratedLambda(policy));
  EXPECT_GT(std::abs(lambda - plain), 0.01 * plain);
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(&smoothed, ClippedTerm(1), nullptr));
  ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                       TermObjective::Create(&terms, lambda, 0));
  EXPECT_NEAR(objective.Evaluate(logging, nullptr), 0, 1e-14);
}

TEST(SmoothedPropensitiesTest, EqualLossesHaveALambdaOnlyIfPropensitiesDiffer) {
  ToyPolicy policy(4, 5);
  policy.losses.assign(4, -0.25);
  EXPECT_OK(CalibratedLambda(policy, 0.5));
  policy.log_propensities.assign(4, std::log(0.25));
  EXPECT_THAT(
      CalibratedLambda(policy, 0.5),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("all 4 training tuples have the loss times p^(1 - "
                         "smoothing) -0.125")));
}

}  // namespace
}  // namespace sortition
