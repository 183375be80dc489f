#pragma once
// F-beta games for tests: random games, small games as matrices, and properties
// of every solution.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "Eigen/Core"
#include "core/base/random.h"
#include "core/games/f_beta/f_beta_certificate.h"
#include "core/games/f_beta/f_beta_game.h"
#include "gtest/gtest.h"

namespace sortition {

// Expects a distribution over sizes, and marginals that sets of each size can
// have.
inline void ExpectFeasible(const std::vector<SizedSetMarginals>& strategy,
                           size_t n) {
  double total = 0;
  int64_t previous = -1;
  for (const SizedSetMarginals& sets : strategy) {
    EXPECT_GT(sets.size, previous);
    previous = sets.size;
    EXPECT_GT(sets.probability, 0);
    total += sets.probability;
    ASSERT_EQ(sets.inclusion_probabilities.size(), sets.size == 0 ? 0 : n);
    double sum = 0;
    for (const double p : sets.inclusion_probabilities) {
      EXPECT_GE(p, 0);
      EXPECT_LE(p, 1);
      sum += p;
    }
    EXPECT_NEAR(sum, sets.size, 1e-12 * static_cast<double>(n + 1));
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

// Expects the strategies to prove the value that the solver claims, up to
// `rounding` of the sums.
inline void ExpectCertified(const std::vector<double>& psi, double beta,
                            const FBetaEquilibrium& game,
                            double rounding = 1e-13) {
  ExpectFeasible(game.predictor, psi.size());
  ExpectFeasible(game.adversary, psi.size());
  EXPECT_GE(FBetaLowerBound(psi, beta, game.predictor), game.lo - rounding);
  EXPECT_LE(FBetaUpperBound(psi, beta, game.adversary), game.hi + rounding);
}

// Payoffs of all 2^n sets against all.
inline Eigen::MatrixXd FullMatrix(const std::vector<double>& psi, double beta) {
  const int size = 1 << psi.size();
  Eigen::MatrixXd payoffs(size, size);
  for (unsigned a = 0; a < static_cast<unsigned>(size); ++a) {
    for (unsigned y = 0; y < static_cast<unsigned>(size); ++y) {
      const double score =
          (a | y) == 0
              ? 1
              : (1 + beta * beta) * std::popcount(a & y) /
                    (std::popcount(a) + beta * beta * std::popcount(y));
      double potential = 0;
      for (size_t i = 0; i < psi.size(); ++i) {
        if ((y >> i & 1) != 0) potential += psi[i];
      }
      payoffs(a, y) = score - potential;
    }
  }
  return payoffs;
}

// Potentials of a family with all kinds of equilibria; every third game has
// ties, every seventh extreme values.
inline std::vector<double> RandomPotentials(RandomSequence& random, int n,
                                            int game) {
  const double scale = std::ldexp(0.5, game % 4);
  const double shift = game / 4 % 3 - 1;
  const double positives = std::max(1.0, n / 5.0);
  std::vector<double> psi(n);
  for (double& potential : psi) {
    potential = (scale * random.Normal() + shift) / positives;
    if (game % 3 == 0) potential = std::round(potential * 4) / 4;
    if (game % 7 == 0 && random.Below(4) == 0) potential *= 1e6;
  }
  return psi;
}

}  // namespace sortition
