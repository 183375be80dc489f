#include "core/games/f_beta/f_beta_game.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "core/games/f_beta/f_beta_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// F-beta games for tests: random games, small games as matrices, and properties
// of every solution.

// Expects a distribution over sizes, and marginals that sets of each size can
// have.
void ExpectFeasible(const std::vector<SizedSetMarginals>& strategy, size_t n) {
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
void ExpectCertified(const std::vector<double>& psi, double beta,
                     const FBetaEquilibrium& game, double rounding = 1e-13) {
  ExpectFeasible(game.predictor, psi.size());
  ExpectFeasible(game.adversary, psi.size());
  EXPECT_GE(FBetaLowerBound(psi, beta, game.predictor), game.lo - rounding);
  EXPECT_LE(FBetaUpperBound(psi, beta, game.adversary), game.hi + rounding);
}

// Payoffs of all 2^n sets against all.
Eigen::MatrixXd FullMatrix(const std::vector<double>& psi, double beta) {
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
std::vector<double> RandomPotentials(RandomSequence& random, int n, int game) {
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

// Stopped searches return what as many rounds return, bit for bit, wherever
// they are stopped.

void ExpectSamePredictor(const FBetaEquilibrium& a, const FBetaEquilibrium& b) {
  ASSERT_EQ(a.predictor.size(), b.predictor.size());
  for (size_t k = 0; k < a.predictor.size(); ++k) {
    EXPECT_EQ(a.predictor[k].size, b.predictor[k].size);
    EXPECT_EQ(a.predictor[k].probability, b.predictor[k].probability);
    EXPECT_EQ(a.predictor[k].inclusion_probabilities,
              b.predictor[k].inclusion_probabilities);
  }
}

// Stops at the `last`-th question. Later answers are "no" again, so that the
// solver must not ask twice.
FBetaEquilibrium StopAt(const std::vector<double>& psi, int last,
                        FBetaSolver* solver) {
  FBetaEquilibrium result;
  int asked = 0;
  EXPECT_OK(solver->Solve(
      psi, {.tolerance = 1e-6, .stop = [&] { return ++asked == last; }},
      nullptr, &result));
  return result;
}

FBetaEquilibrium Rounds(const std::vector<double>& psi, int rounds,
                        FBetaSolver* solver) {
  FBetaEquilibrium result;
  EXPECT_OK(solver->Solve(psi, {.tolerance = 1e-6, .max_rounds = rounds},
                          nullptr, &result));
  return result;
}

// The games take tens of rounds and ask several times in each: during the best
// responses of both players, and between rounds.
TEST(FBetaStopTest, LeavesWhatAsManyRoundsLeave) {
  RandomSequence random(HashBytes("stop"));
  FBetaSolver solver;
  FBetaSolver replay;
  std::set<int> rounds_seen;
  for (const int n : {40, 66, 100, 150}) {
    for (int game = 2; game < 14; game += 2) {
      const std::vector<double> psi = RandomPotentials(random, n, game);
      int step = 1;
      for (int last = 1;; last += step) {
        const FBetaEquilibrium stopped = StopAt(psi, last, &solver);
        if (stopped.termination != FBetaTermination::kStopped) break;
        rounds_seen.insert(stopped.rounds);
        ExpectSamePredictor(stopped, Rounds(psi, stopped.rounds, &replay));
        EXPECT_LE(stopped.lo, stopped.hi);
        if (last % 8 == 0) {
          ExpectCertified(psi, 1, stopped);
          step = 1 + last / 8;
        }
      }
    }
  }
  EXPECT_GT(rounds_seen.size(), 20u);
  EXPECT_TRUE(rounds_seen.contains(0));
}

// Without a round the strategies are still feasible: those of the closed form,
// or everything or nothing, for ψ > 0.
TEST(FBetaStopTest, WithoutARoundStrategiesAreFeasible) {
  RandomSequence random(HashBytes("no round"));
  FBetaSolver solver;
  for (int game = 0; game < 100; ++game) {
    const std::vector<double> psi = RandomPotentials(random, 30, game);
    const FBetaEquilibrium none = Rounds(psi, 0, &solver);
    EXPECT_EQ(none.rounds, 0);
    ExpectCertified(psi, 1, none, 1e-9);
    const FBetaEquilibrium all = Rounds(psi, 1000, &solver);
    EXPECT_LE(none.lo, all.hi + 1e-9);
    EXPECT_GE(none.hi, all.lo - 1e-9);
  }
}

TEST(FBetaStopTest, AdversaryIsLeftOutOnRequest) {
  RandomSequence random(HashBytes("without"));
  const std::vector<double> psi = RandomPotentials(random, 30, 4);
  FBetaSolver solver;
  const FBetaEquilibrium with = Rounds(psi, 1000, &solver);
  FBetaEquilibrium without = with;
  ASSERT_OK(solver.Solve(psi, {.tolerance = 1e-6, .with_adversary = false},
                         nullptr, &without));
  ExpectSamePredictor(with, without);
  EXPECT_EQ(with.hi, without.hi);
  EXPECT_TRUE(without.adversary.empty());
  EXPECT_TRUE(without.adversary_marginals.empty());
}

// A solver that has solved a game of some size allocates nothing for the next
// ones.

// Two uses are not enough to warm up: the best strategies are swapped with
// scratch.
TEST(FBetaAllocationTest, WarmSolversDoNotAllocate) {
  RandomSequence random(HashBytes("allocation"));
  FBetaSolver solver;
  const FBetaOptions options;
  for (int k = 0; k < 12; ++k) {
    const std::vector<double> psi = RandomPotentials(random, 40, k);
    FBetaEquilibrium game;
    FBetaWarmStart warm;
    for (int repetition = 0; repetition < 4; ++repetition) {
      warm.num_items = 0;
      ASSERT_OK(solver.Solve(psi, options, &warm, &game));
    }
    warm.num_items = 0;
    const int64_t before = NumAllocations();
    const absl::Status status = solver.Solve(psi, options, &warm, &game);
    EXPECT_EQ(NumAllocations() - before, 0) << k;
    EXPECT_OK(status);
  }
}

}  // namespace
}  // namespace sortition
