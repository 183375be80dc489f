#include "core/optim/adagrad.h"

#include <cmath>

#include "core/optim/objective.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// f(x) = Σ cᵢ (xᵢ - mᵢ)² / 2 with curvatures c = (1, 100), minimum m = (3, -2).
class Quadratic : public Objective {
 public:
  Eigen::Index dimension() const override { return 2; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Vector2d curvature(1, 100);
    const Eigen::Vector2d difference = point - Eigen::Vector2d(3, -2);
    if (gradient != nullptr) *gradient = curvature.cwiseProduct(difference);
    return 0.5 * curvature.dot(difference.cwiseAbs2());
  }
};

TEST(AdaGradTest, FirstStepsFollowTheRecurrenceFromOne) {
  AdaGrad adagrad(2, /*step_size=*/0.5);
  Eigen::VectorXd point = Eigen::Vector2d(1, 1);
  // g = (3, 0): h = (1 + 9, 1), j = (3/√10, 0).
  EXPECT_DOUBLE_EQ(adagrad.Step(Eigen::Vector2d(3, 0), &point),
                   3 / std::sqrt(10.0));
  EXPECT_DOUBLE_EQ(point[0], 1 - 0.5 * 3 / std::sqrt(10.0));
  EXPECT_EQ(point[1], 1);
  // g = (1, 2): h = (10 + 1, 1 + 4), j = (1/√11, 2/√5).
  const double before = point[0];
  EXPECT_DOUBLE_EQ(adagrad.Step(Eigen::Vector2d(1, 2), &point),
                   std::sqrt(1 / 11.0 + 4 / 5.0));
  EXPECT_DOUBLE_EQ(point[0], before - 0.5 / std::sqrt(11.0));
  EXPECT_DOUBLE_EQ(point[1], 1 - 0.5 * 2 / std::sqrt(5.0));
}

TEST(AdaGradTest, FindsTheMinimumOfABadlyScaledQuadratic) {
  const Quadratic objective;
  AdaGrad adagrad(2, /*step_size=*/1);
  Eigen::VectorXd point = Eigen::VectorXd::Zero(2);
  Eigen::VectorXd gradient(2);
  // On a quadratic the accumulator stops growing as the gradient vanishes, so
  // that convergence is linear: 3000 steps reach rounding level.
  for (int step = 0; step < 3000; ++step) {
    objective.Evaluate(point, &gradient);
    adagrad.Step(gradient, &point);
  }
  EXPECT_NEAR(point[0], 3, 1e-9);
  EXPECT_NEAR(point[1], -2, 1e-9);
}

}  // namespace
}  // namespace sortition
