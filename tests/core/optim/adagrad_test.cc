#include "core/optim/adagrad.h"

#include <cmath>
#include <vector>

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
  Eigen::VectorXd gradient = Eigen::Vector2d(3, 0);
  // g = (3, 0): h = (1 + 9, 1), j = (3/√10, 0).
  EXPECT_DOUBLE_EQ(adagrad.Step(/*l2=*/0, &gradient, &point).direction_norm,
                   3 / std::sqrt(10.0));
  EXPECT_TRUE(gradient.isZero(0));
  EXPECT_DOUBLE_EQ(point[0], 1 - 0.5 * 3 / std::sqrt(10.0));
  EXPECT_EQ(point[1], 1);
  // g = (1, 2): h = (10 + 1, 1 + 4), j = (1/√11, 2/√5).
  const double before = point[0];
  gradient = Eigen::Vector2d(1, 2);
  const AdaGradStep step = adagrad.Step(/*l2=*/0, &gradient, &point);
  EXPECT_DOUBLE_EQ(step.direction_norm, std::sqrt(1 / 11.0 + 4 / 5.0));
  EXPECT_DOUBLE_EQ(step.point_squared_norm, point.squaredNorm());
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
    adagrad.Step(/*l2=*/0, &gradient, &point);
  }
  EXPECT_NEAR(point[0], 3, 1e-9);
  EXPECT_NEAR(point[1], -2, 1e-9);
}

TEST(AdaGradTest, PenaltyIsPartOfTheGradient) {
  // g + 2 μ w = (3, 0) + 2 · 0.25 · (2, 4) = (4, 2): as a step by (4, 2).
  AdaGrad with_penalty(2, /*step_size=*/0.5);
  AdaGrad without(2, /*step_size=*/0.5);
  Eigen::VectorXd a = Eigen::Vector2d(2, 4);
  Eigen::VectorXd b = a;
  Eigen::VectorXd gradient = Eigen::Vector2d(3, 0);
  with_penalty.Step(/*l2=*/0.25, &gradient, &a);
  gradient = Eigen::Vector2d(4, 2);
  without.Step(/*l2=*/0, &gradient, &b);
  EXPECT_EQ(a, b);
}

TEST(AdaGradTest, SparseStepsMoveAsDenseOnesDo) {
  // 4 groups of 3 entries; the gradient is 0 but in groups 3 and 1, then 2.
  AdaGrad dense(12, /*step_size=*/0.5);
  AdaGrad sparse(12, /*step_size=*/0.5);
  Eigen::VectorXd a = Eigen::VectorXd::LinSpaced(12, -1, 1);
  Eigen::VectorXd b = a;
  for (const std::vector<uint32_t>& groups :
       {std::vector<uint32_t>{3, 1}, std::vector<uint32_t>{2, 1}}) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(12);
    for (const uint32_t group : groups) {
      gradient.segment<3>(3 * group) = Eigen::Vector3d(1, -2, 0.5 + group);
    }
    Eigen::VectorXd same = gradient;
    const double norm = dense.Step(/*l2=*/0, &gradient, &a).direction_norm;
    const AdaGradStep step = sparse.StepSparse({groups, 3}, &same, &b);
    EXPECT_NEAR(step.direction_norm, norm, 1e-14);
    EXPECT_TRUE(same.isZero(0));
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace sortition
