#include "bench/reference/double_oracle.h"

#include <cmath>
#include <random>

#include "bench/reference/matrix_game.h"
#include "bench/reference/oracle_games.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr double kTolerance = 1e-7;

// Potentials of about the size of the scores, one in four tied.
Eigen::MatrixXd RandomPotentials(int n, int columns, std::mt19937_64* random) {
  std::normal_distribution<double> normal(0.2, 0.6);
  std::uniform_int_distribution<int> tie(0, 3);
  Eigen::MatrixXd psi =
      Eigen::MatrixXd::NullaryExpr(n, columns, [&] { return normal(*random); });
  for (int i = 1; i < n; ++i) {
    if (tie(*random) == 0) psi.row(i) = psi.row(i - 1);
  }
  return psi;
}

// Expects the method to find the value of the whole game, and its strategies to
// guarantee it against every action.
void ExpectSolves(const OracleGame& game, const std::vector<GameAction>& rows,
                  const std::vector<GameAction>& columns) {
  ASSERT_OK_AND_ASSIGN(const auto whole,
                       SolveMatrixGame(PayoffMatrix(game, rows, columns)));
  ASSERT_OK_AND_ASSIGN(const auto solution,
                       SolveByDoubleOracle(game, {.tolerance = kTolerance,
                                                  .max_iterations = 1000}));
  EXPECT_TRUE(solution.converged);
  EXPECT_NEAR(solution.lower, whole.value, 2 * kTolerance);
  EXPECT_NEAR(solution.upper, whole.value, 2 * kTolerance);
  EXPECT_GE((PayoffMatrix(game, solution.rows.actions, columns).transpose() *
             solution.rows.probabilities)
                .minCoeff(),
            solution.lower - 1e-12);
  EXPECT_LE((PayoffMatrix(game, rows, solution.columns.actions) *
             solution.columns.probabilities)
                .maxCoeff(),
            solution.upper + 1e-12);
}

TEST(DoubleOracleTest, SolvesPrecisionAtK) {
  std::mt19937_64 random(1);
  for (int game = 0; game < 60; ++game) {
    const int n = 2 + game % 4;
    const int k = 1 + game % n;
    const int fewest = game % 3 == 0 ? 0 : k;
    const PositivesRange positives{fewest, game % 2 == 0 ? n : k};
    ExpectSolves(
        PrecisionAtKGame(RandomPotentials(n, 1, &random), k, positives),
        AllSets(n, {k, k}), AllSets(n, positives));
  }
}

TEST(DoubleOracleTest, SolvesDcg) {
  std::mt19937_64 random(2);
  for (int game = 0; game < 60; ++game) {
    const int n = 2 + game % 3;
    const PositivesRange positives{game % 2, game % 3 == 0 ? n : 1 + game % n};
    ExpectSolves(
        DcgGame(RandomPotentials(n, 1, &random), DcgDiscounts(n), positives),
        AllOrders(n), AllSets(n, positives));
  }
}

TEST(DoubleOracleTest, SolvesGradedDcg) {
  std::mt19937_64 random(3);
  for (int game = 0; game < 30; ++game) {
    const int n = 2 + game % 3;
    Eigen::MatrixXd psi = RandomPotentials(n, 3, &random);
    psi.col(2) *= 2;
    ExpectSolves(GradedDcgGame(psi, Eigen::Vector3d(0, 1, 3), DcgDiscounts(n)),
                 AllOrders(n), AllLabellings(n, 3));
  }
}

TEST(DoubleOracleTest, SolvesFBeta) {
  std::mt19937_64 random(4);
  for (int game = 0; game < 60; ++game) {
    const int n = 1 + game % 5;
    const double beta = game % 3 == 0 ? 1 : game % 3 == 1 ? 2 : 0.5;
    ExpectSolves(FBetaGame(RandomPotentials(n, 1, &random), beta),
                 AllSets(n, {0, n}), AllSets(n, {0, n}));
  }
}

TEST(DoubleOracleTest, SaysThatItDidNotConverge) {
  const OracleGame game = FBetaGame(Eigen::Vector3d(0, 0, 0), 1);
  ASSERT_OK_AND_ASSIGN(
      const auto solution,
      SolveByDoubleOracle(game, {.tolerance = 1e-9, .max_iterations = 1}));
  EXPECT_FALSE(solution.converged);
  EXPECT_LE(solution.lower, 1.0 / 3);
  EXPECT_GE(solution.upper, 1.0 / 3);
}

// Table 1 of the paper, at ψ = 0 in three variables. Its DCG entries lost
// "- 1" and denominators in print: gains are 2^y - 1 = y.
TEST(PaperTablesTest, TableOneHasThesePayoffs) {
  const Eigen::Vector3d zero(0, 0, 0);
  const OracleGame precision = PrecisionAtKGame(zero, 2, {0, 3});
  EXPECT_DOUBLE_EQ(precision.payoff({0, 1, 1}, {0, 0, 1}), 1.0 / 2);
  EXPECT_DOUBLE_EQ(precision.payoff({0, 1, 1}, {1, 1, 1}), 1);
  const OracleGame f = FBetaGame(zero, 1);
  EXPECT_DOUBLE_EQ(f.payoff({0, 0, 0}, {0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(f.payoff({0, 1, 1}, {0, 0, 1}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(f.payoff({1, 1, 1}, {0, 0, 1}), 1.0 / 2);
  EXPECT_DOUBLE_EQ(f.payoff({1, 1, 1}, {0, 1, 1}), 4.0 / 5);
  const OracleGame dcg = DcgGame(zero, DcgDiscounts(3), {0, 3});
  EXPECT_NEAR(dcg.payoff({0, 1, 2}, {0, 0, 1}), 1.0 / 2, 1e-15);
  EXPECT_NEAR(dcg.payoff({0, 1, 2}, {0, 1, 1}), 1.0 / 2 + 1 / std::log2(3),
              1e-15);
  EXPECT_NEAR(dcg.payoff({2, 1, 0}, {1, 1, 1}), 1.5 + 1 / std::log2(3), 1e-15);
  const Eigen::Vector3d psi(0.1, 0.2, 0.3);
  EXPECT_NEAR(PrecisionAtKGame(psi, 2, {0, 3}).payoff({0, 1, 1}, {1, 0, 1}),
              1.0 / 2 - 0.1 - 0.3, 1e-15);
}

// Upper part of table 2, P@2 at ψ = 0.4: -2/15 is the value if the adversary
// has two positives. Table 1 also lets it play 111, at 1 - 1.2 against every
// row, so the equilibrium of the reduced game is not one of the game in table
// 1.
TEST(PaperTablesTest, PrecisionOfTableTwoHoldsForTwoPositivesOnly) {
  const Eigen::Vector3d psi(0.4, 0.4, 0.4);
  const auto value = [&](PositivesRange positives) {
    const OracleGame game = PrecisionAtKGame(psi, 2, positives);
    return SolveMatrixGame(
               PayoffMatrix(game, AllSets(3, {2, 2}), AllSets(3, positives)))
        .value()
        .value;
  };
  EXPECT_NEAR(value({2, 2}), -2.0 / 15, 1e-9);
  EXPECT_NEAR(value({0, 3}), -1.0 / 5, 1e-9);
}

// Lower part of table 2, F1 at ψ = 0: the printed strategies are an
// equilibrium, and its value is 1/3. The text says 2/3, which is the loss.
TEST(PaperTablesTest, FScoreOfTableTwoIsOneThird) {
  const OracleGame game = FBetaGame(Eigen::Vector3d(0, 0, 0), 1);
  const std::vector<GameAction> all = AllSets(3, {0, 3});
  const std::vector<GameAction> rows = {{0, 0, 0}, {1, 1, 1}};
  const std::vector<GameAction> columns = {
      {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
  const Eigen::Vector2d p(1.0 / 3, 2.0 / 3);
  const Eigen::Vector4d q(1.0 / 3, 2.0 / 9, 2.0 / 9, 2.0 / 9);
  EXPECT_NEAR((PayoffMatrix(game, rows, all).transpose() * p).minCoeff(),
              1.0 / 3, 1e-15);
  EXPECT_NEAR((PayoffMatrix(game, all, columns) * q).maxCoeff(), 1.0 / 3,
              1e-15);
}

}  // namespace
}  // namespace sortition
