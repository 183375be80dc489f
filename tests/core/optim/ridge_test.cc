#include "core/optim/ridge.h"

#include "Eigen/Cholesky"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

class DenseRows : public RidgeRows {
 public:
  explicit DenseRows(Eigen::MatrixXd z) : z_(std::move(z)) {}
  Eigen::Index rows() const override { return z_.rows(); }
  Eigen::Index columns() const override { return z_.cols(); }
  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    *products = z_ * v;
  }
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    *sum += z_.transpose() * factors;
  }
  void AddSquares(Eigen::VectorXd* sum) const override {
    *sum += z_.cwiseAbs2().colwise().sum().transpose();
  }

 private:
  Eigen::MatrixXd z_;
};

Eigen::MatrixXd RandomMatrix(int rows, int columns, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  return Eigen::MatrixXd::NullaryExpr(rows, columns,
                                      [&] { return random.Normal(); });
}

TEST(RidgeTest, OneColumnIsTheFormula) {
  // v = Σ z t / (Σ z² + penalty) = (1·1 + 2·3) / (5 + 2) = 1.
  const DenseRows rows(Eigen::Vector2d(1, 2));
  const Eigen::VectorXd penalty = Eigen::VectorXd::Constant(1, 2);
  EXPECT_NEAR(SolveRidge(rows, Eigen::Vector2d(1, 3), penalty)[0], 1, 1e-15);
  EXPECT_NEAR(
      internal::SolveRidgeByGradients(rows, Eigen::Vector2d(1, 3), penalty)[0],
      1, 1e-12);
}

// The gradient of the sum, Zᵀ(Zv - t) + penalties∘v, is 0 at its minimum.
TEST(RidgeTest, BothSolversEndWhereTheGradientIsZero) {
  Eigen::MatrixXd z = RandomMatrix(200, 40, 1);
  z.col(3) *= 1e4;  // Scales that differ, as features do.
  z.col(7) *= 1e-3;
  const Eigen::VectorXd targets = RandomMatrix(200, 1, 2);
  Eigen::VectorXd penalties = Eigen::VectorXd::Constant(40, 0.5);
  penalties[39] = 0;
  const DenseRows rows(z);
  const Eigen::VectorXd direct =
      internal::SolveRidgeDirectly(rows, targets, penalties);
  const Eigen::VectorXd iterated =
      internal::SolveRidgeByGradients(rows, targets, penalties);
  const Eigen::VectorXd right = z.transpose() * targets;
  for (const Eigen::VectorXd& v : {direct, iterated}) {
    const Eigen::VectorXd gradient =
        z.transpose() * (z * v) + penalties.cwiseProduct(v) - right;
    EXPECT_LT(gradient.norm(), 1e-9 * right.norm());
  }
  EXPECT_LT((direct - iterated).norm(), 1e-6 * direct.norm());
}

TEST(RidgeTest, ManyColumnsAreSolvedByGradients) {
  const Eigen::Index d = kMaxDirectColumns + 50;
  const Eigen::MatrixXd z = RandomMatrix(100, static_cast<int>(d), 3);
  const Eigen::VectorXd targets = RandomMatrix(100, 1, 4);
  const Eigen::VectorXd penalties = Eigen::VectorXd::Constant(d, 1);
  const Eigen::MatrixXd normal =
      z.transpose() * z + Eigen::MatrixXd::Identity(d, d);
  const Eigen::VectorXd expected = normal.llt().solve(z.transpose() * targets);
  EXPECT_LT((SolveRidge(DenseRows(z), targets, penalties) - expected).norm(),
            1e-8 * expected.norm());
}

TEST(RidgeTest, AColumnThatIsNeverThereGetsNoWeight) {
  Eigen::MatrixXd z = RandomMatrix(20, 3, 5);
  z.col(1).setZero();
  const Eigen::VectorXd targets = RandomMatrix(20, 1, 6);
  const Eigen::VectorXd penalties = Eigen::VectorXd::Zero(3);
  const DenseRows rows(z);
  for (const Eigen::VectorXd& v :
       {internal::SolveRidgeDirectly(rows, targets, penalties),
        internal::SolveRidgeByGradients(rows, targets, penalties)}) {
    EXPECT_TRUE(v.allFinite());
    EXPECT_EQ(v[1], 0);
    EXPECT_GT(v.norm(), 0);
  }
}

}  // namespace
}  // namespace sortition
