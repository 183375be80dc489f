// A solver that has solved a game of some size allocates nothing for the next
// ones.

#include "core/base/check.h"
#include "core/games/ranking/graded_game.h"
#include "core/games/ranking/ndcg_game.h"
#include "core/games/ranking/order_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/smoothed_adversary.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/testing/allocation_counter.h"

namespace sortition {
namespace {

// Calls solve(g) for every game twice; the second time must allocate nothing.
template <typename Solve>
void ExpectWarm(Solve solve) {
  constexpr int kGames = 50;
  for (int g = 0; g < kGames; ++g) solve(g);
  const int64_t before = NumAllocations();
  for (int g = 0; g < kGames; ++g) solve(g);
  EXPECT_EQ(NumAllocations(), before);
}

std::vector<std::vector<double>> Games(int n) {
  std::mt19937_64 random(61);
  std::vector<std::vector<double>> games;
  for (int g = 0; g < 50; ++g) games.push_back(RandomPotentials(n, &random));
  return games;
}

TEST(AllocationTest, WarmSolversAllocateNothing) {
  const auto games = Games(60);
  const Discounts dcg = Discounts::Dcg(60);
  const Discounts dcg10 = Discounts::Dcg(10);
  RankingGame ranking;
  PrecisionGame precision;
  GradedGame graded;
  RankingEquilibrium e;
  GradedEquilibrium of_levels;
  std::vector<double> q(60);
  ExpectWarm([&](int g) {
    CHECK(ranking.Solve(games[g], dcg, {0, 7}, &e).ok());
    CHECK(SmoothAdversary(games[g], e.expected_discounts, {0, 7}, 0.1, q).ok());
  });
  ExpectWarm(
      [&](int g) { CHECK(ranking.Solve(games[g], dcg10, {}, &e).ok()); });
  ExpectWarm([&](int g) {
    CHECK(precision.Solve(games[g], 7, {7, 7}, &e).ok());
  });
  const double gains[] = {0, 1, 3};
  ExpectWarm([&](int g) {
    CHECK(graded.Solve(games[g], gains, dcg, &of_levels).ok());
  });
}

TEST(AllocationTest, WarmOrdersAllocateNothing) {
  const auto games = Games(60);
  BucketOrder policy;
  std::vector<int32_t> order;
  ExpectWarm([&](int g) {
    CHECK(policy.Prepare(games[g]).ok());
    policy.Draw(CounterRandom(SeedKey(g)), &order);
  });
}

}  // namespace
}  // namespace sortition
