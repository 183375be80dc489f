#include "core/optim/certified_descent.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

// R(θ) = |θ_0 - 1| + (θ_1 - 2)² / 2. At λ = 1/2: θ = (1, 4/3), J = 1/4 + 0 +
// 4/9 + 2/9.
class RoofAndBowl : public BundledObjective {
 public:
  RoofAndBowl() : BundledObjective(2, 64) {}
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Vector2d slope(point[0] < 1 ? -1 : 1, point[1] - 2);
    const double risk = std::abs(point[0] - 1) + slope[1] * slope[1] / 2;
    RecordPlane(risk - slope.dot(point), slope);
    RecordPoint(point, risk);
    if (gradient != nullptr) *gradient = lambda() * point + slope;
    return Penalty(point) + risk;
  }
};

constexpr double kMinimum = 0.25 + 4. / 9 + 2. / 9;

DescentOptions Options(double gap) {
  DescentOptions options;
  options.gap_tolerance = gap;
  return options;
}

TEST(CertifiedDescentTest, CuttingPlanesCloseWhatAKinkLeftOpen) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  CertifiedDescent descent(&objective, Eigen::VectorXd::Zero(2), Options(1e-9),
                           nullptr);
  ASSERT_OK(descent.Lbfgs("L-BFGS"));
  ASSERT_OK(descent.CuttingPlaneSteps());
  EXPECT_TRUE(descent.over());
  const DescentResult result = std::move(descent).Finish();
  EXPECT_LE(result.gap(), 1e-9) << result.termination;
  EXPECT_GE(result.objective, kMinimum - 1e-12);
  EXPECT_LE(result.dual_bound, kMinimum + 1e-12);
  EXPECT_NEAR(result.theta[0], 1, 1e-4);
  EXPECT_NEAR(result.theta[1], 4. / 3, 1e-4);
  EXPECT_EQ(result.evaluations, objective.evaluations());
  EXPECT_THAT(result.termination, HasSubstr("gap closed"));
}

// After the proof there are no more evaluations; a looser gap takes fewer.
TEST(CertifiedDescentTest, EndsAsSoonAsTheGapIsClosed) {
  uint32_t last = 0;
  for (const double gap : {1., 1e-2, 1e-4, 1e-8}) {
    RoofAndBowl objective;
    objective.SetLambda(0.5);
    double gap_before_the_last_step = 0;
    double gap_at_the_end = HUGE_VAL;
    CertifiedDescent descent(&objective, Eigen::VectorXd::Zero(2), Options(gap),
                             [&](const DescentResult& so_far) {
                               gap_before_the_last_step = gap_at_the_end;
                               gap_at_the_end = so_far.gap();
                               return false;
                             });
    ASSERT_OK(descent.Lbfgs("L-BFGS"));
    ASSERT_OK(descent.CuttingPlaneSteps());
    const DescentResult result = std::move(descent).Finish();
    EXPECT_LE(result.gap(), gap);
    EXPECT_GT(gap_before_the_last_step, gap);
    EXPECT_GT(result.evaluations, last);
    last = result.evaluations;
  }
}

TEST(CertifiedDescentTest, RelativeGapsAreSharesOfTheObjective) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  DescentOptions options = Options(0.01);
  options.relative = true;
  CertifiedDescent descent(&objective, Eigen::VectorXd::Zero(2), options,
                           nullptr);
  ASSERT_OK(descent.Lbfgs("L-BFGS"));
  ASSERT_OK(descent.CuttingPlaneSteps());
  const DescentResult result = std::move(descent).Finish();
  EXPECT_LE(result.gap(), 0.01 * result.objective);
}

TEST(CertifiedDescentTest, AStoppedDescentDoesNothingMore) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  int told = 0;
  CertifiedDescent descent(&objective, Eigen::VectorXd::Zero(2), Options(1e-9),
                           [&](const DescentResult&) { return ++told == 2; });
  ASSERT_OK(descent.Lbfgs("L-BFGS"));
  EXPECT_TRUE(descent.over());
  const uint32_t evaluations = objective.evaluations();
  ASSERT_OK(descent.Lbfgs("again"));
  ASSERT_OK(descent.CuttingPlaneSteps());
  EXPECT_EQ(objective.evaluations(), evaluations);
  EXPECT_EQ(told, 2);
  const DescentResult result = std::move(descent).Finish();
  EXPECT_TRUE(result.stopped);
  EXPECT_THAT(result.termination, HasSubstr("stopped"));
}

// A second λ starts with the planes of the first: its bound holds before
// anything is evaluated.
TEST(CertifiedDescentTest, PlanesOutliveLambdaAndBestPointsDoNot) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  objective.Evaluate(Eigen::Vector2d(0.9, 1.5), nullptr);
  objective.Evaluate(Eigen::Vector2d(1.1, 1.2), nullptr);
  EXPECT_LT(objective.best_value(), HUGE_VAL);
  objective.SetLambda(0.4);
  EXPECT_EQ(objective.best_value(), HUGE_VAL);
  const double bound = objective.LowerBound(1e-12).value;
  // θ = (1, 2 / 1.4): J = 0.2 + 0.2 θ_1² + (θ_1 - 2)² / 2.
  const double theta = 2 / 1.4;
  const double minimum =
      0.2 + 0.2 * theta * theta + (theta - 2) * (theta - 2) / 2;
  EXPECT_LE(bound, minimum + 1e-12);
  EXPECT_GT(bound, minimum - 0.2);
}

}  // namespace
}  // namespace sortition
