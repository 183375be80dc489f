#include "core/optim/matrix_simplex.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Core"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Entries are integers from -levels to levels, divided by `levels`: few levels
// make ties, dominated rows and equal columns.
Eigen::MatrixXd RandomPayoffs(RandomSequence& random, int rows, int columns,
                              int levels) {
  Eigen::MatrixXd payoffs(rows, columns);
  for (double& payoff : payoffs.reshaped()) {
    payoff =
        (static_cast<double>(random.Below(2 * levels + 1)) - levels) / levels;
  }
  return payoffs;
}

// Expects both strategies to be distributions, each of which holds the other
// player to the value. Every optimal pair does that, and no other pair.
void ExpectOptimal(const MatrixSimplex& simplex, const Eigen::MatrixXd& payoffs,
                   double value, double tolerance) {
  ASSERT_EQ(simplex.num_rows(), payoffs.rows());
  ASSERT_EQ(simplex.num_columns(), payoffs.cols());
  const Eigen::Map<const Eigen::VectorXd> x(simplex.row_strategy().data(),
                                            payoffs.rows());
  const Eigen::Map<const Eigen::VectorXd> z(simplex.column_strategy().data(),
                                            payoffs.cols());
  EXPECT_NEAR(x.sum(), 1, 1e-12);
  EXPECT_NEAR(z.sum(), 1, 1e-12);
  EXPECT_GE(x.minCoeff(), 0);
  EXPECT_GE(z.minCoeff(), 0);
  EXPECT_NEAR((x.transpose() * payoffs).minCoeff(), value, tolerance);
  EXPECT_NEAR((payoffs * z).maxCoeff(), value, tolerance);
  EXPECT_NEAR(simplex.value(), value, tolerance);
}

// The payoffs of the rows and columns that are in the simplex now.
Eigen::MatrixXd PayoffsOf(const MatrixSimplex& simplex) {
  Eigen::MatrixXd payoffs(simplex.num_rows(), simplex.num_columns());
  for (int i = 0; i < payoffs.rows(); ++i) {
    for (int j = 0; j < payoffs.cols(); ++j)
      payoffs(i, j) = simplex.payoff(i, j);
  }
  return payoffs;
}

double ValueOf(const Eigen::MatrixXd& payoffs) {
  const auto solution = SolveMatrixGame(payoffs);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? solution->value : NAN;
}

void AddAll(const Eigen::MatrixXd& payoffs, MatrixSimplex* simplex) {
  for (int i = 0; i < payoffs.rows(); ++i) simplex->AddRow({});
  for (int j = 0; j < payoffs.cols(); ++j) {
    const Eigen::VectorXd column = payoffs.col(j);
    simplex->AddColumn({column.data(), static_cast<size_t>(column.size())});
  }
}

TEST(MatrixSimplexTest, PaperScissorsStoneIsPlayedUniformly) {
  Eigen::Matrix3d payoffs;
  payoffs << 0, 1, -1, -1, 0, 1, 1, -1, 0;
  MatrixSimplex simplex;
  simplex.Clear(-1, 0);
  AddAll(payoffs, &simplex);
  ASSERT_TRUE(simplex.Solve());
  for (const double x : simplex.row_strategy()) EXPECT_NEAR(x, 1. / 3, 1e-15);
  for (const double z : simplex.column_strategy())
    EXPECT_NEAR(z, 1. / 3, 1e-15);
}

TEST(MatrixSimplexTest, AgreesWithLinearProgramming) {
  RandomSequence random(HashBytes("whole"));
  MatrixSimplex simplex;
  for (int game = 0; game < 2000; ++game) {
    const int levels = game % 3 == 0 ? 1 : game % 3 == 1 ? 4 : 1 << 20;
    const Eigen::MatrixXd payoffs =
        RandomPayoffs(random, 1 + static_cast<int>(random.Below(15)),
                      1 + static_cast<int>(random.Below(15)), levels);
    const double perturbation = game % 2 == 0 ? 0 : 1e-10;
    simplex.Clear(-1, perturbation);
    AddAll(payoffs, &simplex);
    ASSERT_TRUE(simplex.Solve()) << game;
    ExpectOptimal(simplex, payoffs, ValueOf(payoffs), 2e-9);
    EXPECT_EQ(simplex.num_repairs(), 0);
  }
}

// As in the double oracle, rows and columns come a few at a time, and idle ones
// leave.
TEST(MatrixSimplexTest, FollowsAGameThatGrowsAndShrinks) {
  RandomSequence random(HashBytes("growing"));
  MatrixSimplex simplex;
  std::vector<double> added;
  const auto random_payoffs = [&](int size, int levels) {
    const Eigen::MatrixXd payoffs = RandomPayoffs(random, size, 1, levels);
    added.assign(payoffs.data(), payoffs.data() + size);
    return std::span<const double>(added);
  };
  for (int game = 0; game < 60; ++game) {
    const int levels = game % 3 == 0 ? 1 : game % 3 == 1 ? 5 : 1 << 20;
    simplex.Clear(-1, 1e-10);
    simplex.AddRow({});
    simplex.AddColumn(random_payoffs(1, levels));
    for (int round = 0; round < 12; ++round) {
      for (uint64_t k = random.Below(5); k > 0; --k) {
        simplex.AddColumn(random_payoffs(simplex.num_rows(), levels));
      }
      ASSERT_TRUE(simplex.Solve());
      for (uint64_t k = random.Below(5); k > 0; --k) {
        simplex.AddRow(random_payoffs(simplex.num_columns(), levels));
      }
      ASSERT_TRUE(simplex.Solve());
      if (round % 4 == 3) {
        for (int i = simplex.num_rows() - 1; i >= 0; --i) {
          if (simplex.RowIsIdle(i) && random.Below(2) == 0)
            simplex.RemoveRow(i);
        }
        for (int j = simplex.num_columns() - 1; j >= 0; --j) {
          if (simplex.ColumnIsIdle(j) && random.Below(2) == 0) {
            simplex.RemoveColumn(j);
          }
        }
        ASSERT_TRUE(simplex.Solve());
      }
      const Eigen::MatrixXd payoffs = PayoffsOf(simplex);
      ExpectOptimal(simplex, payoffs, ValueOf(payoffs), 2e-9);
    }
    EXPECT_EQ(simplex.num_repairs(), 0);  // Appending is exact.
  }
}

// 100 copies of a row and of a column in matching pennies, a game of two
// actions each whose value is 0.
TEST(MatrixSimplexTest, EqualActionsDoNotStopIt) {
  const int n = 200;
  Eigen::MatrixXd payoffs(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) payoffs(i, j) = i % 2 == j % 2 ? 1 : -1;
  }
  MatrixSimplex simplex;
  simplex.Clear(-1, 1e-9);
  AddAll(payoffs, &simplex);
  ASSERT_TRUE(simplex.Solve());
  ExpectOptimal(simplex, payoffs, 0, 1e-8);
  EXPECT_LT(simplex.num_pivots(), 20);
}

// A value far smaller than all payoffs: only `lowest_payoff` has to be below
// the value.
TEST(MatrixSimplexTest, PayoffsBelowTheLowestMayHideBehindTheValue) {
  Eigen::Matrix2d payoffs;
  payoffs << 3, -50, 0, 1;  // Row 1 guarantees 0; value 3/54.
  MatrixSimplex simplex;
  simplex.Clear(0, 0);
  AddAll(payoffs, &simplex);
  ASSERT_TRUE(simplex.Solve());
  ExpectOptimal(simplex, payoffs, 3. / 54, 1e-12);
}

TEST(MatrixSimplexTest, SameGameGivesTheSameBits) {
  RandomSequence random(HashBytes("bits"));
  const Eigen::MatrixXd payoffs = RandomPayoffs(random, 30, 30, 3);
  MatrixSimplex used;
  used.Clear(-1, 1e-9);
  AddAll(RandomPayoffs(random, 40, 40, 3), &used);
  ASSERT_TRUE(used.Solve());
  MatrixSimplex fresh;
  for (MatrixSimplex* simplex : {&used, &fresh}) {
    simplex->Clear(-1, 1e-9);
    AddAll(payoffs, simplex);
    ASSERT_TRUE(simplex->Solve());
  }
  EXPECT_TRUE(std::ranges::equal(used.row_strategy(), fresh.row_strategy()));
  EXPECT_TRUE(
      std::ranges::equal(used.column_strategy(), fresh.column_strategy()));
}

}  // namespace
}  // namespace sortition
