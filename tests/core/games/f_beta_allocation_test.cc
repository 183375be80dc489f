// A program of its own, since it replaces operator new.
#include <cstdlib>
#include <new>
#include <vector>

#include "core/base/random.h"
#include "core/games/f_beta_game.h"
#include "gtest/gtest.h"
#include "tests/core/games/f_beta_games.h"
#include "tests/testing/status_matchers.h"

namespace {

int64_t num_allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace sortition {
namespace {

// Twice is not enough: the best strategies change places with scratch.
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
    const int64_t before = num_allocations;
    const absl::Status status = solver.Solve(psi, options, &warm, &game);
    EXPECT_EQ(num_allocations - before, 0) << k;
    EXPECT_OK(status);
  }
}

}  // namespace
}  // namespace sortition
