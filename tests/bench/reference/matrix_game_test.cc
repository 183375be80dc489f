#include "bench/reference/matrix_game.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

TEST(MatrixGameTest, SolvesARectangularGame) {
  // The row player mixes so that both columns pay alike: 3p = 1 - p + 2(1 - p)
  // would need p = 1/2; the third row is worse than both.
  Eigen::MatrixXd payoffs(3, 2);
  payoffs << 3, 0, 0, 3, 1, 1;
  ASSERT_OK_AND_ASSIGN(const auto solution, SolveMatrixGame(payoffs));
  EXPECT_NEAR(solution.value, 1.5, 1e-9);
  EXPECT_NEAR(solution.row_strategy[0], 0.5, 1e-9);
  EXPECT_NEAR(solution.row_strategy[2], 0, 1e-9);
  EXPECT_NEAR(solution.column_strategy[0], 0.5, 1e-9);
}

// Each strategy guarantees the value against every answer, which proves both.
TEST(MatrixGameTest, BothStrategiesGuaranteeTheValue) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-2, 2);
  for (int game = 0; game < 100; ++game) {
    const int rows = 1 + game % 13;
    const int columns = 1 + game % 17;
    const Eigen::MatrixXd payoffs = Eigen::MatrixXd::NullaryExpr(
        rows, columns, [&] { return uniform(random); });
    ASSERT_OK_AND_ASSIGN(const auto solution, SolveMatrixGame(payoffs));
    EXPECT_GE((payoffs.transpose() * solution.row_strategy).minCoeff(),
              solution.value - 1e-9);
    EXPECT_LE((payoffs * solution.column_strategy).maxCoeff(),
              solution.value + 1e-9);
  }
}

TEST(MatrixGameTest, RefusesWhatIsNoGame) {
  EXPECT_FALSE(SolveMatrixGame(Eigen::MatrixXd(0, 3)).ok());
  EXPECT_FALSE(
      SolveMatrixGame(Eigen::MatrixXd::Constant(2, 2, 1.0 / 0.0)).ok());
}

}  // namespace
}  // namespace sortition
