// A solver that has solved a game of some size allocates nothing for the next
// ones.
#include <vector>

#include "core/base/random.h"
#include "core/games/f_beta/f_beta_game.h"
#include "gtest/gtest.h"
#include "tests/core/games/f_beta/f_beta_games.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
