// Stopped searches return what as many rounds return, bit for bit, wherever
// they are stopped.
#include <set>

#include "core/base/random.h"
#include "core/games/f_beta/f_beta_game.h"
#include "gtest/gtest.h"
#include "tests/core/games/f_beta/f_beta_games.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
