#include "core/aggregation/principal_axes.h"

#include <cmath>

#include "Eigen/SVD"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

// Rows alternate between sources. Rows are sampled at random, so that with a
// period of any length each source has its share, within 6 standard deviations.
TEST(PrincipalAxesTest, RowsOfAnyPeriodAreMet) {
  for (const Index period : {2, 3, 5}) {
    const std::vector<Index> places = SpreadOut(3000 * period, 3000);
    ASSERT_EQ(places.size(), 3000u);
    std::vector<int> counts(period);
    for (Index i = 0; i < 3000; ++i) {
      ASSERT_GE(places[i], i * period);
      ASSERT_LT(places[i], (i + 1) * period);
      ++counts[places[i] % period];
    }
    for (const int count : counts)
      EXPECT_NEAR(count, 3000.0 / static_cast<double>(period), 165);
  }
  EXPECT_EQ(SpreadOut(4, 9), (std::vector<Index>{0, 1, 2, 3}));
}

// Points along (3, 4) / 5 with a small orthogonal part; most of the many
// columns are constant.
TEST(PrincipalAxesTest, FindsTheDirectionsOfLargestVariance) {
  ScoreMatrix vectors = ScoreMatrix::Constant(400, 50, 7);
  for (int i = 0; i < 400; ++i) {
    const double along = std::cos(i);
    const double across = 0.1 * std::sin(2 * i);
    vectors(i, 10) += 0.6 * along - 0.8 * across;
    vectors(i, 20) += 0.8 * along + 0.6 * across;
  }
  const PrincipalAxes axes = FindPrincipalAxes(vectors);
  EXPECT_NEAR(axes.axes(10, 0), 0.6, 1e-3);
  EXPECT_NEAR(axes.axes(20, 0), 0.8, 1e-3);
  EXPECT_NEAR(axes.axes(10, 1), 0.8, 1e-3);
  EXPECT_NEAR(axes.axes(20, 1), -0.6, 1e-3);
  EXPECT_NEAR(axes.axes.col(0).norm(), 1, 1e-12);
  EXPECT_NEAR(axes.shares[0], 1 / 1.01, 1e-3);
  EXPECT_NEAR(axes.shares[0] + axes.shares[1], 1, 1e-12);
  const Eigen::MatrixXd points = axes.Project(vectors, {17, 3});
  EXPECT_NEAR(points(0, 0) - points(1, 0), std::cos(17) - std::cos(3), 1e-3);
}

TEST(PrincipalAxesTest, OfEqualVectorsThereAreNone) {
  const PrincipalAxes axes = FindPrincipalAxes(ScoreMatrix::Constant(5, 3, 2));
  EXPECT_EQ(axes.axes.cwiseAbs().maxCoeff(), 0);
  EXPECT_EQ(axes.shares[0], 0);
}

// There are more columns than are copied at a time.
TEST(PrincipalAxesTest, AxesAreTheSingularVectors) {
  srand(1);
  ScoreMatrix vectors = ScoreMatrix::Random(7, 2500);
  vectors.row(0).array() += 2;
  vectors.row(1).array() *= 3;
  const ScoreMatrix centred = vectors.rowwise() - vectors.colwise().mean();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(
      centred, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const PrincipalAxes axes = FindPrincipalAxes(vectors);
  EXPECT_FALSE(axes.of_sample);
  const Eigen::VectorXd squares = svd.singularValues().array().square();
  const Eigen::MatrixXd points = axes.Project(vectors, {0, 1, 2, 3, 4, 5, 6});
  for (Index a = 0; a < 2; ++a) {
    EXPECT_NEAR(std::abs(axes.axes.col(a).dot(svd.matrixV().col(a))), 1, 1e-9);
    EXPECT_NEAR(axes.shares[a], squares(a) / squares.sum(), 1e-9);
    EXPECT_GT(axes.axes.col(a).maxCoeff(), -axes.axes.col(a).minCoeff());
    EXPECT_NEAR(points.col(a).squaredNorm(), squares(a), 1e-9 * squares(a));
  }
  EXPECT_TRUE(FindPrincipalAxes(ScoreMatrix::Random(401, 2)).of_sample);
}

}  // namespace
}  // namespace sortition
