#include "core/optim/parameter_frame.h"

#include <cmath>
#include <vector>

#include "core/optim/adagrad.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"

namespace sortition {
namespace {

// f(w) = Σ (w_j - m_j)⁴ / 4, m = (1, -2, 3).
class Quartic : public Objective {
 public:
  Eigen::Index dimension() const override { return 3; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Array3d d = point.array() - Eigen::Array3d(1, -2, 3);
    if (gradient != nullptr) *gradient = d.cube().matrix();
    return d.pow(4).sum() / 4;
  }
};

const ParameterFrame kFrame{Eigen::Vector3d(0.5, 1, -1),
                            Eigen::Vector3d(2, 0.25, 10)};

TEST(ParameterFrameTest, GoesThereAndBack) {
  const Eigen::VectorXd w = Eigen::Vector3d(1.5, 2, 9);
  const Eigen::VectorXd v = Eigen::Vector3d(0.5, 4, 1);
  EXPECT_EQ(kFrame.Into(w), v);
  EXPECT_EQ(kFrame.From(v), w);
  EXPECT_EQ(kFrame.SquaredNorm(w), v.squaredNorm());
  EXPECT_EQ(ParameterFrame().SquaredNorm(w), w.squaredNorm());
}

TEST(ParameterFrameTest, ScalesUndoTheUnitOfAColumn) {
  // Rows (3, 7000), (4, 0), (0, 1000) and (0, 0); nothing in the third column.
  // Root mean squares √12.5 and 5000; 4 values in 4 rows.
  const Eigen::VectorXd scales =
      ScalesOf({Eigen::Vector3d(25, 50e6, 0), Eigen::Vector3d(2, 2, 0), 4});
  EXPECT_DOUBLE_EQ(scales[0], 1 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(scales[1], 1 / 5000.0);
  EXPECT_EQ(scales[2], 1);
  // As long as 1 in the mean: (9 + 16) / 12.5 + (49 + 1) / 25 = 4 over 4 rows.
  // With a quarter of the rows there are 4 values in a row.
  EXPECT_DOUBLE_EQ(
      ScalesOf({Eigen::Vector3d(25, 50e6, 0), Eigen::Vector3d(2, 2, 0), 1})[1],
      1 / 10000.0);
}

TEST(FramedObjectiveTest, IsTheSumOfItsPartsWithItsGradient) {
  const Quartic risk;
  const Quartic pull;
  const FramedObjective objective(
      {.risk = &risk, .unit = 0.5, .pull = &pull, .pull_weight = 3, .l2 = 0.2},
      &kFrame);
  const Eigen::VectorXd v = Eigen::Vector3d(0.3, -1, 0.2);
  const double f = risk.Evaluate(kFrame.From(v), nullptr);
  EXPECT_NEAR(objective.Evaluate(v, nullptr), 5 * f + 0.2 * v.squaredNorm(),
              1e-12 * f);
  Eigen::VectorXd gradient(3);
  objective.Evaluate(v, &gradient);
  EXPECT_LT((gradient - CentralDifferences(objective, v)).norm(),
            1e-6 * gradient.norm());
}

// The steps in w with the frame are those of v without it.
TEST(FramedAdaGradTest, MovesAsTheCoordinatesDo) {
  const Quartic risk;
  constexpr double kL2 = 0.1;
  const FramedObjective in_frame({.risk = &risk, .l2 = kL2}, &kFrame);
  AdaGrad framed(3, /*step_size=*/0.3, kFrame);
  AdaGrad plain(3, /*step_size=*/0.3);
  Eigen::VectorXd w = Eigen::Vector3d(0.5, -1, 4);
  Eigen::VectorXd v = kFrame.Into(w);
  for (int step = 0; step < 20; ++step) {
    Eigen::VectorXd gradient(3);
    risk.Evaluate(w, &gradient);
    const AdaGradStep one = framed.Step(kL2, &gradient, &w);
    in_frame.Evaluate(v, &gradient);
    const AdaGradStep two = plain.Step(/*l2=*/0, &gradient, &v);
    EXPECT_NEAR(one.direction_norm, two.direction_norm, 1e-12);
    EXPECT_NEAR(one.point_squared_norm, w.squaredNorm(), 1e-12);
    EXPECT_LT((kFrame.From(v) - w).norm(), 1e-12);
  }
}

TEST(FramedAdaGradTest, SparseStepsMoveAsDenseOnesDo) {
  const ParameterFrame frame{{}, Eigen::VectorXd::LinSpaced(35, 0.1, 9)};
  const std::vector<uint32_t> groups = {1, 3, 6};
  AdaGrad dense(35, /*step_size=*/0.5, frame);
  AdaGrad sparse(35, /*step_size=*/0.5, frame);
  Eigen::VectorXd a = Eigen::VectorXd::LinSpaced(35, -1, 1);
  Eigen::VectorXd b = a;
  for (int step = 0; step < 3; ++step) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(35);
    for (const uint32_t group : groups) {
      gradient.segment<5>(5 * group).setConstant(group - 2.5 + step);
    }
    Eigen::VectorXd same = gradient;
    dense.Step(/*l2=*/0, &gradient, &a);
    sparse.StepSparse(/*l2=*/0, {groups, 5}, &same, &b);
    EXPECT_TRUE(same.isZero(0));
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace sortition
