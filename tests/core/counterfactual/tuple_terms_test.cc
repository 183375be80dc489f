#include "core/counterfactual/tuple_terms.h"

#include <cmath>
#include <limits>

#include "core/counterfactual/crm.h"
#include "core/counterfactual/penalised_mean.h"
#include "core/counterfactual/risk_objective.h"
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

TEST(PenalisedMeanTest, SlopesAreThoseOfCentralDifferences) {
  const std::vector<double> terms = {-0.3, 0.2, -1.5, 0};
  const auto risk_of = [](const std::vector<double>& values) {
    Moments moments;
    for (const double value : values) moments.Add(value);
    return PenalisedMean(moments, 1.5);
  };
  // Mean -0.4; V = (0.01 + 0.36 + 1.21 + 0.16) / 3 = 0.58.
  EXPECT_NEAR(risk_of(terms).value(), -0.4 + 1.5 * std::sqrt(0.58 / 4), 1e-15);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<double> above = terms, below = terms;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    EXPECT_NEAR(risk_of(terms).Slope(terms[i]),
                (risk_of(above).value() - risk_of(below).value()) / 2e-5, 1e-9);
  }
}

// Computes the same number in two ways: from all weights, and from single
// terms.
TEST(TermObjectiveTest, EqualsTheRiskOfTheWeights) {
  ToyPolicy policy(50, 1);
  policy.losses[7] = 0;
  const Eigen::VectorXd point = Eigen::Vector2d(0.4, -0.8);
  const CrmRisk crm = *CrmRisk::Create(2, 3);
  const CrmRisk ips = *CrmRisk::Create(HUGE_VAL, 0);
  const LogSmoothingRisk smoothed = *LogSmoothingRisk::Create(0.3);
  struct Case {
    const Risk* risk;
    TermFunction term;
    double lambda;
  };
  for (const Case& c :
       {Case{&crm, ClippedTerm(2), 3}, Case{&ips, ClippedTerm(HUGE_VAL), 0},
        Case{&smoothed, LogSmoothedTerm(0.3), 0}}) {
    ASSERT_OK_AND_ASSIGN(const RiskObjective whole,
                         RiskObjective::Create(&policy, c.risk, 0.1));
    ASSERT_OK_AND_ASSIGN(WeightedTerms terms,
                         WeightedTerms::Create(&policy, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                         TermObjective::Create(&terms, c.lambda, 0.1));
    Eigen::VectorXd gradient(2), expected(2);
    EXPECT_NEAR(objective.Evaluate(point, &gradient),
                whole.Evaluate(point, &expected), 1e-14);
    EXPECT_LT((gradient - expected).norm(), 1e-13 * expected.norm());
    EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
              1e-6 * gradient.norm());
  }
}

TEST(TermObjectiveTest, BlocksChangeNothing) {
  ToyPolicy policy(50, 2);
  policy.losses[3] = 0;
  ASSERT_OK_AND_ASSIGN(WeightedTerms terms,
                       WeightedTerms::Create(&policy, ClippedTerm(2), nullptr));
  ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                       TermObjective::Create(&terms, 2, 0.1));
  const Eigen::VectorXd point = Eigen::Vector2d(-1, 0.2);
  Eigen::VectorXd gradient(2), whole(2);
  policy.block_size_ = 16;
  const double value = objective.Evaluate(point, &gradient);
  policy.block_size_ = 50;
  EXPECT_EQ(objective.Evaluate(point, &whole), value);
  EXPECT_EQ(gradient, whole);
}

TEST(TermObjectiveTest, NamesWhatIsOutOfRange) {
  ToyPolicy policy(5, 3), one(1, 3);
  EXPECT_THAT(WeightedTerms::Create(&one, ClippedTerm(1), nullptr),
              IsInvalid(HasSubstr("there are 1, must be at least 2")));
  ASSERT_OK_AND_ASSIGN(WeightedTerms terms,
                       WeightedTerms::Create(&policy, ClippedTerm(1), nullptr));
  EXPECT_THAT(TermObjective::Create(&terms, -1, 0),
              IsInvalid(HasSubstr("lambda is -1")));
  EXPECT_THAT(TermObjective::Create(&terms, 0, std::nan("")),
              IsInvalid(HasSubstr("l2 is nan")));
}

// With all weights 1 the objective at λ* is mean + λ* √(V/n) = 0.
TEST(CalibratedLambdaTest, ZeroesTheObjectiveOfTheLoggingPolicy) {
  ToyPolicy policy(30, 4);
  const Eigen::VectorXd logging = Eigen::Vector2d(0.5, 0.5);
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  ASSERT_OK_AND_ASSIGN(const double lambda, CalibratedLambda(policy));
  EXPECT_GT(lambda, 0);
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(&policy, ClippedTerm(10), nullptr));
  ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                       TermObjective::Create(&terms, lambda, 0));
  EXPECT_NEAR(objective.Evaluate(logging, nullptr), 0, 1e-14);
}

TEST(CalibratedLambdaTest, EqualLossesHaveNone) {
  ToyPolicy policy(4, 5);
  policy.losses.assign(4, -0.25);
  EXPECT_THAT(CalibratedLambda(policy),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("all 4 training tuples have the loss -0.25")));
}

}  // namespace
}  // namespace sortition
