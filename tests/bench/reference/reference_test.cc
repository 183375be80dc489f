#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "bench/reference/assignment_lp.h"
#include "bench/reference/double_oracle.h"
#include "bench/reference/matrix_game.h"
#include "bench/reference/oracle_games.h"
#include "core/base/random.h"
#include "core/losses/assignment.h"
#include "core/losses/ndcg_hinge.h"
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

// Loss-augmented inference for NDCG against the linear program of seed 001,
// sec. 17.4.3, which shares no code with the assignment by shortest paths.

struct Query {
  std::vector<double> scores;
  std::vector<double> gains;
  size_t cutoff = 0;
};

Query RandomQuery(RandomSequence& random) {
  Query query;
  const size_t n = 1 + random.Below(12);
  const uint64_t levels = 1 + random.Below(4);
  const bool ties = random.Below(2) == 0;
  const double scale = std::exp(2 * random.Normal() - 2);
  for (size_t i = 0; i < n; ++i) {
    const double score =
        ties ? std::round(2 * random.Normal()) / 2 : random.Normal();
    query.scores.push_back(scale * score);
    query.gains.push_back(static_cast<double>(random.Below(levels)));
  }
  query.cutoff = random.Below(n + 1);
  return query;
}

// The discount D of rank number j = 1 .. n.
double DiscountOf(const Query& query, size_t number) {
  const size_t rank = query.scores.size() - number;
  if (query.cutoff > 0 && rank >= query.cutoff) return 0;
  return 1 / std::log2(static_cast<double>(rank) + 2);
}

// The labels' rank numbers ȳ; items of one label are ordered by their scores.
std::vector<size_t> NumbersOfLabels(const Query& query) {
  std::vector<size_t> order(query.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(query.gains[a], query.scores[a]) <
           std::pair(query.gains[b], query.scores[b]);
  });
  std::vector<size_t> numbers(order.size());
  for (size_t k = 0; k < order.size(); ++k) numbers[order[k]] = k + 1;
  return numbers;
}

TEST(NdcgLpTest, InferenceIsTheLinearProgram) {
  RandomSequence random(SeedKey(1));
  NdcgHinge hinge;
  for (int trial = 0; trial < 2000; ++trial) {
    const Query query = RandomQuery(random);
    const size_t n = query.scores.size();
    const std::vector<size_t> own = NumbersOfLabels(query);
    double ideal = 0, own_score = 0;
    for (size_t i = 0; i < n; ++i) {
      ideal += DiscountOf(query, own[i]) * query.gains[i];
      own_score += static_cast<double>(own[i]) * query.scores[i];
    }
    // c_ij = D(j) y_i / G(y, y) - j s_i (sec. 17.4.2).
    Eigen::MatrixXd costs(n, n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 1; j <= n; ++j) {
        costs(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j - 1)) =
            (ideal > 0 ? DiscountOf(query, j) * query.gains[i] / ideal : 0) -
            static_cast<double>(j) * query.scores[i];
      }
    }
    ASSERT_OK_AND_ASSIGN(const AssignmentLpSolution lp,
                         SolveAssignmentLp(costs));
    // Birkhoff: a vertex is a permutation.
    EXPECT_LE((lp.matrix.array() * (1 - lp.matrix.array())).abs().maxCoeff(),
              1e-9);
    std::vector<double> slopes(n);
    const double value =
        hinge.Evaluate(query.scores, query.gains, query.cutoff, slopes).value;
    EXPECT_NEAR(value, (ideal > 0 ? 1 : 0) - lp.cost - own_score, 1e-9);
    double cost = 0;
    for (size_t rank = 0; rank < n; ++rank) {
      cost +=
          costs(hinge.order()[rank], static_cast<Eigen::Index>(n - rank - 1));
    }
    EXPECT_NEAR(cost, lp.cost, 1e-9);
  }
}

// The assignment alone, for any costs.
TEST(NdcgLpTest, AssignmentIsTheLinearProgram) {
  RandomSequence random(SeedKey(2));
  Assignment assignment;
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<Eigen::Index>(1 + random.Below(20));
    const bool ties = trial % 2 == 0;
    const Eigen::MatrixXd costs = Eigen::MatrixXd::NullaryExpr(n, n, [&] {
      const double cost = 3 * random.Normal();
      return ties ? std::round(cost) : cost;
    });
    ASSERT_OK_AND_ASSIGN(const AssignmentLpSolution lp,
                         SolveAssignmentLp(costs));
    const double least =
        assignment.Solve(static_cast<size_t>(n),
                         [&](size_t row, std::span<double> out) {
                           for (Eigen::Index j = 0; j < n; ++j) {
                             out[static_cast<size_t>(j)] =
                                 costs(static_cast<Eigen::Index>(row), j);
                           }
                         },
                         {});
    EXPECT_NEAR(least, lp.cost, 1e-9);
  }
}

TEST(NdcgLpTest, RefusesWhatIsNoAssignment) {
  EXPECT_FALSE(SolveAssignmentLp(Eigen::MatrixXd(0, 0)).ok());
  EXPECT_FALSE(SolveAssignmentLp(Eigen::MatrixXd::Zero(2, 3)).ok());
  EXPECT_FALSE(
      SolveAssignmentLp(Eigen::MatrixXd::Constant(2, 2, 1.0 / 0.0)).ok());
}

}  // namespace
}  // namespace sortition
