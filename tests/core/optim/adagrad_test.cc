#include "core/optim/adagrad.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/optim/lbfgs.h"
#include "core/optim/objective.h"
#include "tests/testing/status_matchers.h"

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
  // g + 2 μ w = (3, 0) + 2 · 0.25 · (2, 4) = (4, 2): the same as a step by (4,
  // 2).
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
  // 7 groups of 5 entries, which vectors of 4 do not divide; g is 0 except in
  // groups 1, 3 and 6.
  const std::vector<uint32_t> groups = {1, 3, 6};
  AdaGrad dense(35, /*step_size=*/0.5);
  AdaGrad sparse(35, /*step_size=*/0.5);
  Eigen::VectorXd a = Eigen::VectorXd::LinSpaced(35, -1, 1);
  Eigen::VectorXd b = a;
  for (int step = 0; step < 3; ++step) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(35);
    for (const uint32_t group : groups) {
      gradient.segment<5>(5 * group) =
          Eigen::VectorXd::LinSpaced(5, -1.0 - step, 0.5 + group);
    }
    Eigen::VectorXd same = gradient;
    const AdaGradStep moved = dense.Step(/*l2=*/0, &gradient, &a);
    const AdaGradStep like =
        sparse.StepSparse(/*l2=*/0, {groups, 5}, &same, &b);
    EXPECT_NEAR(like.direction_norm, moved.direction_norm, 1e-13);
    EXPECT_TRUE(same.isZero(0));
    EXPECT_EQ(a, b);
  }
}

// f(w) = (1/n) Σ log(1 + exp(-yᵢ xᵢ·w)) + μ ‖w‖², over all rows or [begin,
// end). It is convex, so it has one minimum.
class LogisticLoss : public Objective {
 public:
  static constexpr int kRows = 200;
  static constexpr double kL2 = 0.01;
  LogisticLoss() : x_(kRows, 4), y_(kRows) {
    RandomSequence random(SeedKey(1));
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < 4; ++j) x_(i, j) = random.Normal();
      const double score = x_(i, 0) - 0.5 * x_(i, 2) + random.Normal();
      y_[i] = score > 0 ? 1 : -1;
    }
  }
  Eigen::Index dimension() const override { return 4; }
  double Evaluate(const Eigen::VectorXd& w,
                  Eigen::VectorXd* gradient) const override {
    if (gradient != nullptr) {
      *gradient = Gradient(w, 0, kRows) + 2 * kL2 * w;
    }
    const Eigen::ArrayXd margins = y_.array() * (x_ * w).array();
    return (-margins).exp().log1p().mean() + kL2 * w.squaredNorm();
  }
  // The gradient of the mean of some losses, without the penalty.
  Eigen::VectorXd Gradient(const Eigen::VectorXd& w, int begin, int end) const {
    const auto x = x_.middleRows(begin, end - begin);
    const auto y = y_.segment(begin, end - begin).array();
    const Eigen::ArrayXd slopes = -y / (1 + (y * (x * w).array()).exp());
    return x.transpose() * slopes.matrix() / (end - begin);
  }

 private:
  Eigen::MatrixXd x_;
  Eigen::VectorXd y_;
};

TEST(AdaGradTest, MiniBatchesReachTheOptimumOfLbfgsOnAConvexObjective) {
  const LogisticLoss loss;
  config::v1::LbfgsOptions options;
  options.set_gradient_tolerance(1e-10);
  options.set_decrease_tolerance(0);
  ASSERT_OK_AND_ASSIGN(
      const LbfgsResult lbfgs,
      MinimizeByLbfgs(loss, Eigen::VectorXd::Zero(4), options, nullptr));
  // 20 batches of 10 make a pass. Steps shrink as 1/√t, and noise with them:
  // after 1e5 steps w is within a few thousandths, and f, which is flat there,
  // within 1e-5.
  AdaGrad adagrad(4, /*step_size=*/0.5);
  Eigen::VectorXd point = Eigen::VectorXd::Zero(4);
  for (int step = 0; step < 100000; ++step) {
    const int begin = step % 20 * 10;
    Eigen::VectorXd gradient = loss.Gradient(point, begin, begin + 10);
    adagrad.Step(LogisticLoss::kL2, &gradient, &point);
  }
  EXPECT_NEAR(loss.Evaluate(point, nullptr), lbfgs.value, 1e-5);
  EXPECT_LT((point - lbfgs.point).norm(), 0.01);
  // With all rows at once there is no noise.
  AdaGrad whole(4, /*step_size=*/0.5);
  Eigen::VectorXd exact = Eigen::VectorXd::Zero(4);
  for (int step = 0; step < 3000; ++step) {
    Eigen::VectorXd gradient = loss.Gradient(exact, 0, LogisticLoss::kRows);
    whole.Step(LogisticLoss::kL2, &gradient, &exact);
  }
  EXPECT_NEAR(loss.Evaluate(exact, nullptr), lbfgs.value, 1e-14);
  EXPECT_LT((exact - lbfgs.point).norm(), 1e-8);
}

}  // namespace
}  // namespace sortition
