#include "core/optim/query_planes.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/optim/vector1.h"

namespace sortition {
namespace {

// R_1 = |x - 1|, R_2 = |x + 1|: λ/2 x² + (|x - 1| + |x + 1|) / 2 is 1 at 0.
// There is one plane for both from x = 0, and the plane of each other side.
TEST(QueryPlanesTest, MixesEachQueryByItself) {
  QueryPlanes planes(2, 1, 4);
  EXPECT_EQ(planes.Maximise(1, 1e-12, 100).value, -HUGE_VAL);
  planes.Add(0, -1, Vector1(1));
  EXPECT_EQ(planes.Maximise(1, 1e-12, 100).value, -HUGE_VAL);
  planes.Add(1, -1, Vector1(-1));
  // Slopes cancel: -1 at 0.
  EXPECT_NEAR(planes.Maximise(1, 1e-12, 100).value, -1, 1e-12);
  planes.Add(0, 1, Vector1(-1));
  planes.Add(1, 1, Vector1(1));
  const auto bound = planes.Maximise(1, 1e-12, 100);
  EXPECT_NEAR(bound.value, 1, 1e-9);
  EXPECT_NEAR(bound.point[0], 0, 1e-9);
}

// The bound is the minimum of the model, so the model at its minimum has that
// value for any planes.
TEST(QueryPlanesTest, BoundIsTheValueOfTheModelAtItsMinimum) {
  constexpr int kQueries = 7, kPlanes = 6, kDimension = 4;
  RandomSequence random(SeedKey(1));
  for (int trial = 0; trial < 50; ++trial) {
    QueryPlanes planes(kQueries, kDimension, kPlanes);
    std::vector<Eigen::MatrixXd> slopes(kQueries);
    std::vector<Eigen::VectorXd> offsets(kQueries);
    for (int q = 0; q < kQueries; ++q) {
      slopes[q].resize(kDimension, kPlanes);
      offsets[q].resize(kPlanes);
      for (int t = 0; t < kPlanes; ++t) {
        offsets[q][t] = random.Normal();
        for (double& entry : slopes[q].col(t)) entry = random.Normal();
        planes.Add(q, offsets[q][t], slopes[q].col(t));
      }
    }
    const double lambda = std::exp(random.Normal());
    const auto bound = planes.Maximise(lambda, 1e-10, 100000);
    double model = lambda / 2 * bound.point.squaredNorm();
    for (int q = 0; q < kQueries; ++q) {
      model += (offsets[q] + slopes[q].transpose() * bound.point).maxCoeff() /
               kQueries;
    }
    EXPECT_LE(bound.value, model + 1e-12);
    EXPECT_NEAR(bound.value, model, 1e-8);
    // Any number of passes gives a bound, starting where the last call ended.
    const auto other = planes.Maximise(2 * lambda, 1e-10, 1);
    EXPECT_GE(other.value, bound.value - 1e-8);
  }
}

// With R = |x - 1| the planes in use stay when room runs out.
TEST(QueryPlanesTest, ForgetsWhatIsNotUsed) {
  QueryPlanes planes(1, 1, 3);
  planes.Add(0, -1, Vector1(1));
  planes.Add(0, 1, Vector1(-1));
  const double with_both = planes.Maximise(0.5, 1e-12, 100).value;
  EXPECT_NEAR(with_both, 0.25, 1e-9);
  for (int k = 0; k < 10; ++k) planes.Add(0, -5 - k, Vector1(0));
  EXPECT_NEAR(planes.Maximise(0.5, 1e-12, 100).value, 0.25, 1e-9);
  // A new λ does not lose the bound of the old planes.
  EXPECT_NEAR(planes.Maximise(2, 1e-12, 100).value, 0.75, 1e-9);
}

}  // namespace
}  // namespace sortition
