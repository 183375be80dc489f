#include "core/games/ranking/discounts.h"

#include <cmath>
#include <limits>

#include "core/games/ranking/ranking_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DiscountsTest, RefusesWhatARankCannotBeWorth) {
  EXPECT_THAT(Discounts::Create({1, 1.5}),
              IsInvalid(HasSubstr("discounts[1] is 1.5")));
  EXPECT_FALSE(Discounts::Create({HUGE_VAL}).ok());
  EXPECT_FALSE(Discounts::Create({-1}).ok());
  EXPECT_FALSE(
      Discounts::Create({std::numeric_limits<double>::quiet_NaN()}).ok());
  EXPECT_FALSE(Discounts::PrecisionAt(0).ok());
  EXPECT_FALSE(Discounts::Dcg(2).ScaledBy(0).ok());
  EXPECT_FALSE(Discounts::Dcg(2).MixedWithUniform(1, 3).ok());
  EXPECT_FALSE(Discounts::Dcg(2).MixedWithUniform(0.5, 0).ok());
}

TEST(DiscountsTest, HoldsTheVariants) {
  EXPECT_THAT(Discounts::Dcg(3).by_rank(),
              AllNear({1, 1 / std::log2(3), 0.5}, 1e-15));
  EXPECT_THAT(Discounts::Letor(3).by_rank(),
              AllNear({1, 1, 1 / std::log2(3)}, 1e-15));
  EXPECT_THAT(Discounts::PrecisionAt(2).value().by_rank(),
              ElementsAre(0.5, 0.5));
  EXPECT_EQ(Discounts::Create({1, 0, 0}).value().size(), 1);
}

// The best among all policies that are uniform with probability ε, by
// enumeration of the game in which each order's discounts are mixed with their
// mean.
TEST(DiscountsTest, ExplorationIsPartOfTheGame) {
  std::mt19937_64 random(16);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 1 + trial % 5;
    const double epsilon = 0.1 + 0.08 * (trial % 10);
    const std::vector<double> psi = RandomPotentials(n, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    const PositivesRange range = RandomRange(n, &random);
    ASSERT_OK_AND_ASSIGN(const Discounts mixed,
                         discounts.MixedWithUniform(epsilon, n));
    RankingEquilibrium e = Solved(psi, mixed, Bound(range));
    OracleGame game = DcgGame(ToEigen(psi), ToEigen(discounts, n), range);
    game.payoff = [&, with = game.payoff](const GameAction& row,
                                          const GameAction& column) {
      double uniform = 0;
      double exact = 0;
      for (int i = 0; i < n; ++i) {
        uniform += column[i] * (discounts.Mean(n) - psi[i]);
      }
      exact = with(row, column);
      return (1 - epsilon) * exact + epsilon * uniform;
    };
    EXPECT_NEAR(ValueByEnumeration(game, AllOrders(n), AllSets(n, range)),
                e.value, 1e-9 * (1 + ToEigen(psi).cwiseAbs().sum()));
    discounts.TakeOutUniform(epsilon, e.expected_discounts);
    EXPECT_LE(HullViolation(discounts, e.expected_discounts), 1e-13);
  }
}

}  // namespace
}  // namespace sortition
