#include "core/games/f_beta/f_beta_game.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/base/random.h"
#include "core/games/f_beta/f_beta_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/f_beta/f_beta_games.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

FBetaEquilibrium Solve(const std::vector<double>& psi, double beta = 1,
                       double tolerance = 1e-9) {
  FBetaSolver solver;
  FBetaEquilibrium result;
  const absl::Status status = solver.Solve(
      psi, {.beta = beta, .tolerance = tolerance}, nullptr, &result);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.termination, FBetaTermination::kConverged);
  return result;
}

double ProbabilityOf(const std::vector<SizedSetMarginals>& strategy,
                     uint32_t size) {
  for (const SizedSetMarginals& sets : strategy) {
    if (sets.size == size) return sets.probability;
  }
  return 0;
}

std::vector<double> MarginalsOf(const std::vector<SizedSetMarginals>& strategy,
                                size_t n) {
  std::vector<double> marginals(n);
  for (const SizedSetMarginals& sets : strategy) {
    if (sets.size == 0) continue;
    for (size_t i = 0; i < n; ++i) {
      marginals[i] += sets.probability * sets.inclusion_probabilities[i];
    }
  }
  return marginals;
}

// ψ = 0: the predictor plays ∅ with v and everything otherwise, the adversary ∅
// with v and a single item otherwise; (1-v)/n · n(1+β²)/(n+β²) = v.
TEST(FBetaGameTest, WithoutPotentialsEverythingOrNothing) {
  for (const int n : {1, 3, 5, 40}) {
    for (const double beta : {0.5, 1.0, 2.0}) {
      const double b = beta * beta;
      const FBetaEquilibrium game = Solve(std::vector<double>(n), beta);
      const double v = (1 + b) / (n + 1 + 2 * b);
      EXPECT_NEAR(game.lo, v, 1e-14);
      EXPECT_NEAR(game.hi, v, 1e-14);
      EXPECT_NEAR(ProbabilityOf(game.predictor, 0), v, 1e-14);
      EXPECT_NEAR(ProbabilityOf(game.predictor, n), 1 - v, 1e-14);
      EXPECT_NEAR(ProbabilityOf(game.adversary, 0), v, 1e-14);
      EXPECT_NEAR(ProbabilityOf(game.adversary, 1), 1 - v, 1e-14);
      EXPECT_THAT(
          game.adversary_marginals,
          Pointwise(DoubleNear(1e-14), std::vector<double>(n, (1 - v) / n)));
    }
  }
}

TEST(FBetaGameTest, OneItemOfSomePotential) {
  const FBetaEquilibrium game = Solve({0.4});
  EXPECT_NEAR(game.lo, 0.3, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.predictor, 0), 0.3, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.predictor, 1), 0.7, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.adversary, 0), 0.5, 1e-14);
}

// 3v + (v+.2) + (v+.1) + (v-.1) + ... : 6 v = 2 - .2 - .2 gives v = 4/15.
TEST(FBetaGameTest, SmallPotentialsHaveTheClosedForm) {
  const FBetaEquilibrium game = Solve({0.2, 0.1, -0.1});
  EXPECT_EQ(game.rounds, 0);
  EXPECT_NEAR(game.lo, 4. / 15, 1e-14);
  EXPECT_NEAR(game.hi, 4. / 15, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.predictor, 0), 4. / 15, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.predictor, 2), 0.6, 1e-14);
  EXPECT_NEAR(ProbabilityOf(game.predictor, 3), 2. / 15, 1e-14);
  const std::vector<double> items = {11. / 15, 7. / 12, 17. / 60};
  EXPECT_THAT(MarginalsOf(game.predictor, 3),
              Pointwise(DoubleNear(1e-14), items));
  EXPECT_NEAR(ProbabilityOf(game.adversary, 0), 1. / 3, 1e-14);
  const std::vector<double> adversary = {1. / 3, 1. / 6, 1. / 6};
  EXPECT_THAT(game.adversary_marginals,
              Pointwise(DoubleNear(1e-14), adversary));
}

TEST(FBetaGameTest, LargePotentialsArePlayedPurely) {
  for (const double scale : {1.0, 1e3, 1e8}) {
    const FBetaEquilibrium game =
        Solve({1.5 * scale, 0.2 * scale, -0.4 * scale, 0.3 * scale});
    // Σψ⁺ = 2 scale; all relevant items are found.
    EXPECT_NEAR(game.lo, 1 - 2 * scale, 1e-15 * scale);
    EXPECT_NEAR(game.hi, 1 - 2 * scale, 1e-15 * scale);
    ASSERT_EQ(game.predictor.size(), 1u);
    EXPECT_THAT(game.predictor[0].inclusion_probabilities,
                ElementsAre(1, 1, 0, 1));
    EXPECT_THAT(game.adversary_marginals, ElementsAre(1, 1, 0, 1));
  }
  const FBetaEquilibrium nothing = Solve({-1, -1, -1});
  EXPECT_EQ(nothing.lo, 1);
  EXPECT_EQ(nothing.hi, 1);
  EXPECT_EQ(ProbabilityOf(nothing.predictor, 0), 1);
  EXPECT_EQ(ProbabilityOf(nothing.adversary, 0), 1);
}

// Values found by linear programming over all sets.
TEST(FBetaGameTest, ValuesOfKnownGames) {
  const struct {
    std::vector<double> psi;
    double beta;
    double value;
  } games[] = {
      {{0.6, 0.3, 0.2}, 1, -0.1},
      {{0.5, 0.5, 0.5}, 1, -0.5},
      // In equilibrium the sets of a size are not nested.
      {{0.36, 0.14, 0.02, -0.12, -0.2}, 1, 0.167067384660166},
      {{0.7, 0.24, 0.04, -0.06, -0.1}, 1, -0.138241610496225},
      {{0.3, 0.2, 0.1, 0}, 2, 73. / 405},
      {{0, 0, 0}, 2, 5. / 12},
      {{0, 0, 0}, 0.5, 5. / 18},
  };
  for (const auto& [psi, beta, value] : games) {
    const FBetaEquilibrium game = Solve(psi, beta);
    EXPECT_NEAR(game.lo, value, 1e-9);
    EXPECT_NEAR(game.hi, value, 1e-9);
    ExpectCertified(psi, beta, game);
  }
}

TEST(FBetaGameTest, LargerGamesReachTheirTolerance) {
  RandomSequence random(HashBytes("larger"));
  for (const int n : {17, 41, 64, 100}) {
    for (int k = 0; k < 24; ++k) {
      const std::vector<double> psi = RandomPotentials(random, n, 7 * k + 1);
      const FBetaEquilibrium game = Solve(psi, 1, 1e-6);
      EXPECT_LE(game.hi - game.lo, 1e-6);
      ExpectCertified(psi, 1, game);
    }
  }
}

// A game with as many items as a data set needs memory only for the sizes
// played.
TEST(FBetaGameTest, ThousandsOfItemsAreOneGame) {
  RandomSequence random(HashBytes("thousands"));
  const int n = 8000;
  for (const double scale : {0.5, 1.0, 4.0}) {
    std::vector<double> psi(n);
    for (double& potential : psi) potential = scale * random.Normal() * 5 / n;
    const FBetaEquilibrium game = Solve(psi, 1, 1e-2);
    ExpectFeasible(game.predictor, n);
    ExpectFeasible(game.adversary, n);
    const double lo = FBetaLowerBound(psi, 1, game.predictor, 1e-3);
    const double hi = FBetaUpperBound(psi, 1, game.adversary, 1e-3);
    EXPECT_LE(hi - lo, 1.2e-2);
    EXPECT_GE(lo, game.lo - 1.1e-3);
    EXPECT_LE(hi, game.hi + 1.1e-3);
  }
}

// Equal potentials differ only in their index.
TEST(FBetaGameTest, EqualPotentialsArePlayedAlike) {
  RandomSequence random(HashBytes("ties"));
  for (int k = 0; k < 40; ++k) {
    std::vector<double> psi(60);
    for (double& potential : psi) {
      potential = (static_cast<double>(random.Below(7)) - 3) / 20;
    }
    const FBetaEquilibrium game = Solve(psi);
    ExpectCertified(psi, 1, game);
    for (size_t i = 1; i < psi.size(); ++i) {
      if (psi[i] != psi[0]) continue;
      EXPECT_EQ(game.adversary_marginals[i], game.adversary_marginals[0]);
      for (const SizedSetMarginals& sets : game.predictor) {
        if (sets.size == 0) continue;
        EXPECT_EQ(sets.inclusion_probabilities[i],
                  sets.inclusion_probabilities[0]);
      }
    }
  }
}

// Permuted items give permuted strategies, bit for bit.
TEST(FBetaGameTest, OrderOfItemsDoesNotMatter) {
  RandomSequence random(HashBytes("order"));
  const std::vector<double> psi = RandomPotentials(random, 50, 1);
  std::vector<double> reversed(psi.rbegin(), psi.rend());
  const FBetaEquilibrium game = Solve(psi);
  FBetaEquilibrium other = Solve(reversed);
  EXPECT_EQ(game.lo, other.lo);
  EXPECT_EQ(game.hi, other.hi);
  std::ranges::reverse(other.adversary_marginals);
  EXPECT_EQ(game.adversary_marginals, other.adversary_marginals);
}

// V is concave with supergradient -q: V(ψ') <= V(ψ) - q'(ψ' - ψ).
TEST(FBetaGameTest, AdversaryMarginalsAreASupergradient) {
  RandomSequence random(HashBytes("supergradient"));
  for (int k = 0; k < 100; ++k) {
    const std::vector<double> psi = RandomPotentials(random, 20, k);
    const FBetaEquilibrium game = Solve(psi, 2);
    std::vector<double> moved = psi;
    double bound = game.hi;
    for (size_t i = 0; i < psi.size(); ++i) {
      const double step = 0.1 * random.Normal();
      moved[i] += step;
      bound -= game.adversary_marginals[i] * step;
    }
    EXPECT_LE(Solve(moved, 2).lo, bound + 1e-15 * std::abs(bound) + 1e-12);
  }
}

// A hard game takes hundreds of pivots from a cold start, and a few from the
// sets of a similar game.
TEST(FBetaGameTest, WarmStartsSaveRounds) {
  RandomSequence random(HashBytes("warm"));
  FBetaSolver solver;
  FBetaWarmStart warm;
  FBetaEquilibrium game;
  int cold_rounds = 0;
  int warm_rounds = 0;
  std::vector<double> psi = RandomPotentials(random, 60, 4);
  for (int k = 0; k < 20; ++k) {
    for (double& potential : psi) potential += 1e-5 * random.Normal();
    ASSERT_OK(solver.Solve(psi, {}, nullptr, &game));
    cold_rounds += game.rounds;
    const double cold_lo = game.lo;
    ASSERT_OK(solver.Solve(psi, {}, &warm, &game));
    ExpectCertified(psi, 1, game);
    EXPECT_LE(cold_lo, game.hi + 1e-12);
    EXPECT_LE(game.lo, cold_lo + 1e-6);
    if (k > 0) warm_rounds += game.rounds;
  }
  EXPECT_LT(2 * warm_rounds, cold_rounds);
}

TEST(FBetaGameTest, StoppedSearchesStillHoldTheirBounds) {
  RandomSequence random(HashBytes("stopped"));
  const std::vector<double> psi = RandomPotentials(random, 100, 4);
  FBetaSolver solver;
  FBetaEquilibrium game;
  double previous_gap = std::numeric_limits<double>::infinity();
  for (const int rounds : {0, 1, 2, 4, 8}) {
    ASSERT_OK(solver.Solve(psi, {.max_rounds = rounds}, nullptr, &game));
    EXPECT_EQ(game.termination, FBetaTermination::kRoundLimit);
    EXPECT_EQ(game.rounds, rounds);
    ExpectCertified(psi, 1, game);
    EXPECT_LE(game.hi - game.lo, previous_gap);
    previous_gap = game.hi - game.lo;
  }
}

TEST(FBetaGameTest, RefusesWhatIsNoGame) {
  FBetaSolver solver;
  FBetaEquilibrium game;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity, 2e9}) {
    const std::vector<double> psi = {0.5, bad};
    const absl::Status status = solver.Solve(psi, {}, nullptr, &game);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("potentials[1]"));
  }
  const FBetaOptions options[] = {
      {.beta = 0},      {.beta = -1},         {.beta = std::nan("")},
      {.tolerance = 0}, {.tolerance = 1e-10}, {.max_rounds = -1}};
  for (const FBetaOptions& bad : options) {
    const std::vector<double> psi = {0.5};
    EXPECT_EQ(solver.Solve(psi, bad, nullptr, &game).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(FBetaGameTest, WithoutItemsNothingIsRight) {
  const FBetaEquilibrium game = Solve({});
  EXPECT_EQ(game.lo, 1);
  EXPECT_EQ(game.hi, 1);
  EXPECT_EQ(ProbabilityOf(game.predictor, 0), 1);
}

}  // namespace
}  // namespace sortition
