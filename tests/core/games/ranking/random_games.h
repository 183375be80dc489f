#pragma once
// Random games to compare solvers with the solution of the whole matrix.
#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "bench/reference/double_oracle.h"
#include "bench/reference/matrix_game.h"
#include "bench/reference/oracle_games.h"
#include "core/games/ranking/discounts.h"
#include "core/games/ranking/ranking_certificate.h"
#include "core/games/ranking/ranking_game.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

inline constexpr double kLog3 = 0.630929753571457437;  // 1 / log2(3).

// Scales vary from far too small to matter to far larger than the discounts. A
// third is rounded, so that potentials tie with others and with discounts.
inline std::vector<double> RandomPotentials(int n, std::mt19937_64* random) {
  std::uniform_int_distribution<int> kind(0, 5);
  const double scales[] = {0.05, 0.4, 0.4, 1, 1, 20};
  const double scale = scales[kind(*random)];
  std::normal_distribution<double> normal(0.3 * scale, scale);
  const bool rounded = kind(*random) < 2;
  std::vector<double> psi(n);
  for (double& value : psi) {
    value = normal(*random);
    if (rounded) value = std::round(value * 4) / 4;
  }
  return psi;
}

inline Discounts RandomDiscounts(int n, std::mt19937_64* random) {
  std::uniform_int_distribution<int> kind(0, 3);
  std::uniform_int_distribution<int> ranks(1, n);
  switch (kind(*random)) {
    case 0:
      return Discounts::Dcg(ranks(*random));
    case 1:
      return Discounts::Letor(n);
    case 2:
      return Discounts::Dcg(n);
    default:
      break;
  }
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> by_rank(n);
  for (double& value : by_rank) value = std::round(uniform(*random) * 8) / 8;
  std::sort(by_rank.rbegin(), by_rank.rend());
  return Discounts::Create(by_rank).value();
}

// A free number of positives, exactly m, or a range.
inline PositivesRange RandomRange(int n, std::mt19937_64* random) {
  std::uniform_int_distribution<int> count(0, n);
  std::uniform_int_distribution<int> kind(0, 2);
  const int a = count(*random);
  const int b = count(*random);
  switch (kind(*random)) {
    case 0:
      return {0, n};
    case 1:
      return {a, a};
    default:
      return {std::min(a, b), std::max(a, b)};
  }
}

inline PositivesBound Bound(PositivesRange range) {
  return {static_cast<double>(range.fewest), static_cast<double>(range.most)};
}

inline RankingEquilibrium Solved(std::vector<double> psi,
                                 const Discounts& discounts,
                                 PositivesBound positives = {}) {
  RankingGame game;
  RankingEquilibrium equilibrium;
  EXPECT_OK(game.Solve(psi, discounts, positives, &equilibrium));
  return equilibrium;
}

inline Eigen::VectorXd ToEigen(std::span<const double> values) {
  return Eigen::Map<const Eigen::VectorXd>(
      values.data(), static_cast<Eigen::Index>(values.size()));
}

inline Eigen::VectorXd ToEigen(const Discounts& discounts, int n) {
  return Eigen::VectorXd::NullaryExpr(
      n, [&](Eigen::Index r) { return discounts[r]; });
}

// Matches a range whose elements are all within `tolerance` of the expected.
inline auto AllNear(const std::vector<double>& expected, double tolerance) {
  return ::testing::Pointwise(::testing::DoubleNear(tolerance), expected);
}

// Expects both strategies to be feasible up to `violation`, and to prove these
// bounds.
inline void ExpectProves(const RankingCertificate& certificate, double lower,
                         double upper, double violation, double rounding) {
  EXPECT_LE(certificate.predictor_violation, violation);
  EXPECT_LE(certificate.adversary_violation, violation);
  EXPECT_NEAR(certificate.lower, lower, rounding);
  EXPECT_NEAR(certificate.upper, upper, rounding);
}

inline double Scale(const std::vector<double>& psi) {
  return 1 + ToEigen(psi).cwiseAbs().sum();
}

inline double ValueByEnumeration(const OracleGame& game,
                                 const std::vector<GameAction>& rows,
                                 const std::vector<GameAction>& columns) {
  return SolveMatrixGame(PayoffMatrix(game, rows, columns)).value().value;
}

}  // namespace sortition
