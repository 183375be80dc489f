#include <cmath>
#include <vector>

#include "Eigen/Core"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "core/games/f_beta/f_beta_certificate.h"
#include "core/games/f_beta/f_beta_game.h"
#include "gtest/gtest.h"
#include "tests/core/games/f_beta/f_beta_games.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// The bounds that the linear program's strategies prove. Clp misses the value
// by 1e-6 if all payoffs of a row are within 1e-6 of each other (β = 1e-3).
struct Bracket {
  double lo = 0;
  double hi = 0;
};

Bracket SolveFullGame(const std::vector<double>& psi, double beta) {
  const Eigen::MatrixXd payoffs = FullMatrix(psi, beta);
  const auto full = SolveMatrixGame(payoffs);
  EXPECT_TRUE(full.ok()) << full.status();
  if (!full.ok()) return {};
  return {(full->row_strategy.transpose() * payoffs).minCoeff(),
          (payoffs * full->column_strategy).maxCoeff()};
}

// 1,000 games in all. Brute force solves a matrix of 2^n x 2^n.
class FBetaBruteForceTest : public ::testing::TestWithParam<int> {};

TEST_P(FBetaBruteForceTest, ValueIsThatOfTheFullGame) {
  constexpr double kBetas[] = {0.5, 1, 2, 1, 2, 0.5, 1e-3, 1, 1e3, 0.5};
  const int n = GetParam();
  const int num_games = n <= 3 ? 200 : n == 4 ? 160 : n == 5 ? 140 : 100;
  RandomSequence random(HashBytes("brute force"), n);
  FBetaSolver solver;
  FBetaEquilibrium game;
  for (int k = 0; k < num_games; ++k) {
    const std::vector<double> psi = RandomPotentials(random, n, k);
    const double beta = kBetas[k % 10];
    // The linear program is not accurate for potentials beyond ±3. Cutting one
    // adds the amount cut to the value: the adversary plays such items always
    // or never.
    std::vector<double> cut = psi;
    double lost = 0;
    double largest = 0;
    for (double& potential : cut) {
      largest = std::max(largest, std::abs(potential));
      lost += std::max(potential - 3, 0.0);
      potential = std::clamp(potential, -3.0, 3.0);
    }
    ASSERT_OK(
        solver.Solve(psi, {.beta = beta, .tolerance = 1e-9}, nullptr, &game));
    EXPECT_EQ(game.termination, FBetaTermination::kConverged);
    const double rounding = 1e-13 + 2e-15 * largest;
    EXPECT_LE(game.hi - game.lo, 1e-9 + rounding);
    ExpectCertified(psi, beta, game, rounding);
    const Bracket full = SolveFullGame(cut, beta);
    EXPECT_LE(full.lo, game.hi + lost + 1e-12 + rounding);
    EXPECT_GE(full.hi, game.lo + lost - 1e-12 - rounding);
    if (beta == 1e-3) continue;
    EXPECT_LE(full.hi - full.lo, 1e-8) << n << " items, game " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FBetaBruteForceTest,
                         ::testing::Values(1, 2, 3, 4, 5, 6));

TEST(FBetaCertificateTest, SlackIsNotExceeded) {
  RandomSequence random(HashBytes("slack"));
  for (int k = 0; k < 50; ++k) {
    const std::vector<double> psi = RandomPotentials(random, 80, k);
    FBetaSolver solver;
    FBetaEquilibrium game;
    ASSERT_OK(solver.Solve(psi, {.max_rounds = 2}, nullptr, &game));
    const double lo = FBetaLowerBound(psi, 1, game.predictor);
    const double hi = FBetaUpperBound(psi, 1, game.adversary);
    const double rounding = 1e-14 * (1 + std::abs(lo));
    for (const double slack : {1e-6, 1e-3, 0.1}) {
      const double loose_lo = FBetaLowerBound(psi, 1, game.predictor, slack);
      const double loose_hi = FBetaUpperBound(psi, 1, game.adversary, slack);
      EXPECT_LE(loose_lo, lo + rounding);
      EXPECT_GE(loose_lo, lo - slack - rounding);
      EXPECT_GE(loose_hi, hi - rounding);
      EXPECT_LE(loose_hi, hi + slack + rounding);
    }
  }
}

// Compares with every single set of a small game.
TEST(FBetaCertificateTest, IsTheBestOfAllSets) {
  RandomSequence random(HashBytes("all sets"));
  for (int k = 0; k < 40; ++k) {
    const std::vector<double> psi = RandomPotentials(random, 6, 7 * k + 1);
    // The predictor plays {0, 1, 2} and {0} with probability 1/2 each, the
    // adversary {1, 5} and the empty set.
    const std::vector<SizedSetMarginals> predictor = {
        {1, 0.5, {1, 0, 0, 0, 0, 0}}, {3, 0.5, {1, 1, 1, 0, 0, 0}}};
    const std::vector<SizedSetMarginals> adversary = {
        {0, 0.5, {}}, {2, 0.5, {0, 1, 0, 0, 0, 1}}};
    const Eigen::MatrixXd payoffs = FullMatrix(psi, 1);
    EXPECT_NEAR(FBetaLowerBound(psi, 1, predictor),
                (payoffs.row(0b1) + payoffs.row(0b111)).minCoeff() / 2, 1e-13);
    EXPECT_NEAR(FBetaUpperBound(psi, 1, adversary),
                (payoffs.col(0) + payoffs.col(0b100010)).maxCoeff() / 2, 1e-13);
  }
}

}  // namespace
}  // namespace sortition
