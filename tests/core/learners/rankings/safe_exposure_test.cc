#include <cmath>
#include <vector>

#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/optim/lbfgs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/exposure_cases.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::HasSubstr;

// Decisions whose logged exposures are those of a policy at `logging`.
struct Logged {
  Logged(double epsilon, size_t n, uint64_t seed) : data(epsilon, n, seed) {
    RandomSequence random(SeedKey(seed + 2));
    logging = RandomPoint(data.family, &random);
    elsewhere = RandomPoint(data.family, &random);
    for (size_t i = 0; i < n; ++i) {
      data.logged[i] = EnumeratedExposures(
          data.family, ScoresOf(data.tuples[i], logging), {1, 0.6, 0.3});
    }
  }
  ExposureData data;
  Eigen::VectorXd logging;
  Eigen::VectorXd elsewhere;
};

struct SafeProblem {
  explicit SafeProblem(const Logged& logged)
      : terms(*ExposureTerms::Create(logged.data.Problem(), logged.data.gains)),
        divergence(*ExposureDivergenceTerms::Create(logged.data.Problem(),
                                                    logged.data.logged)) {}
  ExposureTerms terms;
  ExposureDivergenceTerms divergence;
};

TEST(SafeExposureObjectiveTest, IsTheFormulaAndItsGradient) {
  const Logged logged(0.1, 25, 1);
  SafeProblem problem(logged);
  ASSERT_OK_AND_ASSIGN(const SafeExposureObjective objective,
                       SafeExposureObjective::Create(
                           &problem.terms, &problem.divergence,
                           {.failure_probability = 0.2, .max_clicks = 3}));
  double total = 0, risk = 0, moment = 0;
  const std::vector<double> values =
      AllValues(logged.elsewhere, &problem.terms);
  const std::vector<double> moments =
      AllValues(logged.elsewhere, &problem.divergence);
  for (size_t i = 0; i < values.size(); ++i) {
    total += logged.data.weights[i];
    risk += logged.data.weights[i] * values[i];
    moment += logged.data.weights[i] * moments[i];
  }
  Eigen::VectorXd gradient(3);
  // (1 - η) / η = 4.
  EXPECT_NEAR(objective.Evaluate(logged.elsewhere, &gradient),
              risk / total + std::sqrt(4.0 * 3 / total * moment / total),
              1e-12);
  EXPECT_LT((gradient - CentralDifferences(objective, logged.elsewhere)).norm(),
            1e-7 * (1 + gradient.norm()));
}

// f <= t̄ + ν v̄ + const everywhere, with equality and equal gradients at w₀.
TEST(SafeExposureObjectiveTest, PullWeightMajorises) {
  const Logged logged(0.1, 25, 2);
  SafeProblem problem(logged);
  ASSERT_OK_AND_ASSIGN(
      const SafeExposureObjective objective,
      SafeExposureObjective::Create(&problem.terms, &problem.divergence, {}));
  ASSERT_OK_AND_ASSIGN(const TermObjective risk,
                       TermObjective::Create(&problem.terms, 0, 0));
  ASSERT_OK_AND_ASSIGN(const TermObjective moment,
                       TermObjective::Create(&problem.divergence, 0, 0));
  const double pull = objective.PullWeight(logged.elsewhere);
  const auto majoriser = [&](const Eigen::VectorXd& w) {
    return risk.Evaluate(w, nullptr) + pull * moment.Evaluate(w, nullptr);
  };
  const double constant = objective.Evaluate(logged.elsewhere, nullptr) -
                          majoriser(logged.elsewhere);
  Eigen::VectorXd a(3), b(3), c(3);
  objective.Evaluate(logged.elsewhere, &a);
  risk.Evaluate(logged.elsewhere, &b);
  moment.Evaluate(logged.elsewhere, &c);
  EXPECT_LT((a - b - pull * c).norm(), 1e-12);
  for (const double step : {-1.0, -0.1, 0.1, 1.0, 3.0}) {
    const Eigen::VectorXd w = logged.elsewhere + step * logged.logging;
    EXPECT_LE(objective.Evaluate(w, nullptr), majoriser(w) + constant + 1e-12);
  }
}

// Almost certain to be safe: the result exposes as the log did. Little safety:
// it gains what it can.
TEST(SafeExposureObjectiveTest, SafetyKeepsTheExposuresThatWereLogged) {
  const Logged logged(0.1, 60, 3);
  SafeProblem problem(logged);
  const auto trained = [&](double failure_probability) {
    const SafeExposureObjective objective = *SafeExposureObjective::Create(
        &problem.terms, &problem.divergence,
        {.failure_probability = failure_probability});
    return MinimizeByLbfgs(objective, logged.elsewhere, {}, nullptr)->point;
  };
  ASSERT_OK_AND_ASSIGN(const TermObjective risk,
                       TermObjective::Create(&problem.terms, 0, 0));
  ASSERT_OK_AND_ASSIGN(const TermObjective moment,
                       TermObjective::Create(&problem.divergence, 0, 0));
  const Eigen::VectorXd safe = trained(1e-8);
  const Eigen::VectorXd bold = trained(0.999);
  EXPECT_NEAR(moment.Evaluate(safe, nullptr),
              moment.Evaluate(logged.logging, nullptr), 1e-3);
  EXPECT_GT(moment.Evaluate(bold, nullptr),
            moment.Evaluate(logged.logging, nullptr) + 0.1);
  EXPECT_LT(risk.Evaluate(bold, nullptr), risk.Evaluate(safe, nullptr) - 0.1);
}

// The variance of the estimate from clicks is at most C v: enumerates orders
// and, for C = 1, users who look at one rank, and click if they like it.
TEST(SafeExposureObjectiveTest, MomentBoundsTheVarianceOfAnEstimate) {
  RandomSequence random(SeedKey(4));
  const LinearFamily family = RankFamily(3, 0.1);
  const BanditTuple decision = RandomDecision(3, 4, &random);
  const Eigen::VectorXd logging = RandomPoint(family, &random);
  const Eigen::VectorXd w = RandomPoint(family, &random);
  const std::vector<double> looks = {0.5, 0.3, 0.2};
  const std::vector<double> e0 =
      EnumeratedExposures(family, ScoresOf(decision, logging), looks);
  const std::vector<double> e =
      EnumeratedExposures(family, ScoresOf(decision, w), looks);
  const double like[] = {0.2, 0.9, 0.5, 1};
  double mean = 0, square = 0, v = 0, value = 0;
  for (const Action& order : AllOrders(4, 3)) {
    const double p =
        ServedProbability(family, ScoresOf(decision, logging), order);
    for (size_t k = 0; k < 3; ++k) {
      const int32_t d = order[k];
      mean += p * looks[k] * like[d] * e[d] / e0[d];
      square += p * looks[k] * like[d] * std::pow(e[d] / e0[d], 2);
    }
  }
  for (size_t d = 0; d < 4; ++d) v += e[d] * e[d] / e0[d];
  for (size_t d = 0; d < 4; ++d) value += e[d] * like[d];
  EXPECT_NEAR(mean, value, 1e-12);
  EXPECT_LT(square - mean * mean, v);
}

TEST(SafeExposureObjectiveTest, NamesWhatIsOutOfRange) {
  const Logged logged(0.1, 5, 5), other(0.1, 6, 5);
  SafeProblem problem(logged), others(other);
  EXPECT_THAT(
      SafeExposureObjective::Create(&problem.terms, &problem.divergence,
                                    {.failure_probability = 1}),
      StatusIs(kInvalidArgument, HasSubstr("failure_probability is 1")));
  EXPECT_THAT(SafeExposureObjective::Create(&problem.terms, &problem.divergence,
                                            {.max_clicks = 0}),
              StatusIs(kInvalidArgument, HasSubstr("max_clicks is 0")));
  EXPECT_THAT(
      SafeExposureObjective::Create(&problem.terms, &others.divergence, {}),
      StatusIs(kInvalidArgument, HasSubstr("divergence is of 6 tuples")));
}

}  // namespace
}  // namespace sortition
