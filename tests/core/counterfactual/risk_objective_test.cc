#include "core/counterfactual/risk_objective.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/loss_scaling.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/counterfactual/toy_policy.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

Eigen::VectorXd RandomPoint(RandomSequence* random) {
  return Eigen::Vector2d(random->Normal(), random->Normal());
}

TEST(RiskObjectiveTest, ValueIsTheFormula) {
  // Two tuples; at w = 0 every action has probability 1/3. p = (1/2, 1/12):
  // ρ = (2/3, 4), clipped at 3; δ = (-0.6, -0.5): u = (-0.4, -1.5).
  // ū = -0.95, V = 2·0.55² / 1 = 0.605, √(V/2) = 0.55.
  ToyPolicy policy(2, 1);
  policy.losses = {-0.6, -0.5};
  policy.log_propensities = {std::log(1 / 2.0), std::log(1 / 12.0)};
  ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(3, 2));
  ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                       RiskObjective::Create(&policy, &risk, 0.1));
  EXPECT_NEAR(objective.Evaluate(Eigen::VectorXd::Zero(2), nullptr),
              -0.95 + 2 * 0.55, 1e-14);
}

TEST(RiskObjectiveTest, GradientIsThatOfCentralDifferences) {
  ToyPolicy policy(50, 2);
  RandomSequence random(SeedKey(3));
  for (const double clip : {1.2, 1e9}) {
    ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(clip, 3));
    ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                         RiskObjective::Create(&policy, &risk, 0.05));
    for (int repetition = 0; repetition < 20; ++repetition) {
      const Eigen::VectorXd point = RandomPoint(&random);
      Eigen::VectorXd gradient(2);
      objective.Evaluate(point, &gradient);
      // Truncation is of order step² = 1e-10, rounding 1e-16 / step = 1e-11.
      constexpr double kStep = 1e-5;
      for (int j = 0; j < 2; ++j) {
        Eigen::VectorXd above = point, below = point;
        above[j] += kStep;
        below[j] -= kStep;
        const double difference = (objective.Evaluate(above, nullptr) -
                                   objective.Evaluate(below, nullptr)) /
                                  (2 * kStep);
        EXPECT_NEAR(gradient[j], difference, 1e-6 * gradient.norm())
            << "clip " << clip << " point " << point.transpose();
      }
    }
  }
}

TEST(RiskObjectiveTest, SomeButNotAllWeightsAreClippedInTheGradientTest) {
  ToyPolicy policy(50, 2);
  int clipped = 0;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    const double log_weight = std::log(1 / 3.0) - policy.log_propensities[i];
    const double slope = ClippedLossSlope(policy.losses[i], log_weight, 1.2);
    if (slope == 0) {
      ++clipped;
      EXPECT_EQ(ClippedLoss(policy.losses[i], log_weight, 1.2),
                1.2 * policy.losses[i]);
    }
  }
  EXPECT_GT(clipped, 5);
  EXPECT_LT(clipped, 45);
}

TEST(RiskObjectiveTest, GradientWithoutVarianceIsFinite) {
  // All u are equal: V = 0, where √V has no derivative.
  ToyPolicy policy(4, 5);
  policy.losses.assign(4, 0.0);
  ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(10, 1));
  ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                       RiskObjective::Create(&policy, &risk, 0));
  Eigen::VectorXd gradient(2);
  EXPECT_EQ(objective.Evaluate(Eigen::Vector2d(1, 1), &gradient), 0);
  EXPECT_EQ(gradient.norm(), 0);
}

// Compares whole passes in blocks with passes at once, also for a risk that
// leaves tuples out.
TEST(RiskObjectiveTest, BlocksChangeNothing) {
  ToyPolicy policy(50, 6);
  policy.losses[7] = 0;
  const Eigen::VectorXd point = Eigen::Vector2d(0.3, -1);
  ASSERT_OK_AND_ASSIGN(const CrmRisk crm, CrmRisk::Create(2, 1));
  ASSERT_OK_AND_ASSIGN(const SelfNormalisedRisk normalised,
                       SelfNormalisedRisk::Create(1));
  for (const Risk* risk : {static_cast<const Risk*>(&crm),
                           static_cast<const Risk*>(&normalised)}) {
    ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                         RiskObjective::Create(&policy, risk, 0.1));
    EXPECT_EQ(std::isinf(objective.LogWeights(point)[7]),
              risk->ignores_zero_losses());
    Eigen::VectorXd gradient(2), whole(2);
    policy.block_size_ = 16;
    const double value = objective.Evaluate(point, &gradient);
    policy.block_size_ = 50;
    EXPECT_EQ(objective.Evaluate(point, &whole), value);
    EXPECT_EQ(gradient, whole);
  }
}

Moments LossMoments(ToyPolicy* policy, const Eigen::VectorXd& w, double clip) {
  Moments moments;
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    moments.Add(ClippedLoss(
        policy->losses[i],
        policy->LogProbability(w, i) - policy->log_propensities[i], clip));
  }
  return moments;
}

// Prop. 4 by brute force: sums over the tuples.
double Majorant(const VarianceMajoriser& majoriser, ToyPolicy* policy,
                const Eigen::VectorXd& w, double clip) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    const double u = ClippedLoss(
        policy->losses[i],
        policy->LogProbability(w, i) - policy->log_propensities[i], clip);
    sum += u;
    squares += u * u;
  }
  return majoriser.linear * sum + majoriser.quadratic * squares +
         majoriser.constant;
}

TEST(MajoriserTest, TouchesAtItsPointAndBoundsElsewhere) {
  ToyPolicy policy(40, 7);
  constexpr double kClip = 5;
  RandomSequence random(SeedKey(8));
  for (int repetition = 0; repetition < 20; ++repetition) {
    const Eigen::VectorXd origin = RandomPoint(&random);
    const Moments at_origin = LossMoments(&policy, origin, kClip);
    const VarianceMajoriser majoriser = MajoriseStandardDeviation(at_origin);
    EXPECT_NEAR(Majorant(majoriser, &policy, origin, kClip),
                std::sqrt(at_origin.variance()), 1e-12);
    for (int other = 0; other < 20; ++other) {
      const Eigen::VectorXd w = 2 * RandomPoint(&random);
      EXPECT_GE(Majorant(majoriser, &policy, w, kClip),
                std::sqrt(LossMoments(&policy, w, kClip).variance()) - 1e-12);
    }
  }
}

TEST(CrmValidationTest, NamesWhatIsOutOfRange) {
  ToyPolicy policy(3, 9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ValidateCrm(policy, {.clip = 0.5}),
              IsInvalid(HasSubstr("clip is 0.5")));
  EXPECT_THAT(ValidateCrm(policy, {.lambda = nan}),
              IsInvalid(HasSubstr("lambda is nan")));
  EXPECT_THAT(ValidateCrm(policy, {.l2 = -1}),
              IsInvalid(HasSubstr("l2 is -1")));
  EXPECT_OK(ValidateCrm(policy, {}));
  for (const double loss : {0.25, -1.5, nan}) {
    policy.losses[1] = loss;
    EXPECT_THAT(ValidateCrm(policy, {}),
                IsInvalid(HasSubstr("loss of tuple 1")));
  }
  policy.losses[1] = -1;
  policy.log_propensities[2] = 0.1;
  EXPECT_THAT(ValidateCrm(policy, {}),
              IsInvalid(HasSubstr("log-propensity of tuple 2 is 0.1")));
  EXPECT_THAT(ValidateCrm(ToyPolicy(1, 1), {}),
              IsInvalid(HasSubstr("there are 1")));
}

TEST(LossScalingTest, BestRewardIsMinusOneAndWorstIsZero) {
  EXPECT_EQ(RewardToLoss(5, -3, 5), -1);
  EXPECT_EQ(RewardToLoss(-3, -3, 5), 0);
  EXPECT_EQ(RewardToLoss(1, -3, 5), -0.5);
  EXPECT_EQ(LossToReward(-0.5, -3, 5), 1);
}

}  // namespace
}  // namespace sortition
