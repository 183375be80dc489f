#include "core/optim/cutting_planes.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/optim/vector1.h"

namespace sortition {
namespace {

// R(x) = |x - 1| from both of its planes: λ/2 x² + R is least at 1/λ, or at the
// kink if that is nearer.
TEST(CuttingPlanesTest, AllPlanesOfARoofGiveTheMinimum) {
  CuttingPlanes planes(1, 4);
  planes.Add(-1, Vector1(1));
  planes.Add(1, Vector1(-1));
  const auto at_kink = planes.Maximise(0.5, 1e-14);
  EXPECT_NEAR(at_kink.value, 0.25, 1e-12);
  EXPECT_NEAR(at_kink.point[0], 1, 1e-12);
  const auto before = planes.Maximise(2, 1e-14);
  EXPECT_NEAR(before.value, 0.25 + 0.5, 1e-12);
  EXPECT_NEAR(before.point[0], 0.5, 1e-12);
}

TEST(CuttingPlanesTest, ForgetsTheOldestAndKnowsNothingAtFirst) {
  CuttingPlanes planes(1, 2);
  EXPECT_EQ(planes.Maximise(1, 1e-9).value, -HUGE_VAL);
  planes.Add(100, Vector1(0));
  planes.Add(-1, Vector1(1));
  EXPECT_NEAR(planes.Maximise(1, 1e-9).value, 100, 1e-12);
  planes.Add(1, Vector1(-1));
  EXPECT_NEAR(planes.Maximise(1, 1e-14).value, 0.5, 1e-12);
}

// R(x) = max of random planes: the bound is the model's minimum, so the model
// at its minimum has that value for any planes.
TEST(CuttingPlanesTest, BoundIsTheValueOfTheModelAtItsMinimum) {
  RandomSequence random(SeedKey(1));
  for (int trial = 0; trial < 50; ++trial) {
    constexpr int kPlanes = 30;
    CuttingPlanes planes(5, kPlanes);
    Eigen::MatrixXd slopes(5, kPlanes);
    Eigen::VectorXd offsets(kPlanes);
    for (int t = 0; t < kPlanes; ++t) {
      offsets[t] = random.Normal();
      for (double& entry : slopes.col(t)) entry = random.Normal();
      planes.Add(offsets[t], slopes.col(t));
    }
    const double lambda = std::exp(2 * random.Normal());
    const auto bound = planes.Maximise(lambda, 1e-10);
    const double model =
        lambda / 2 * bound.point.squaredNorm() +
        (offsets + slopes.transpose() * bound.point).maxCoeff();
    EXPECT_LE(bound.value, model + 1e-12);
    EXPECT_NEAR(bound.value, model, 1e-9);
  }
}

}  // namespace
}  // namespace sortition
