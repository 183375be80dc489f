#include "core/games/ranking/precision_game.h"

#include <limits>

#include "core/games/ranking/ranking_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

RankingEquilibrium Solved(std::vector<double> psi, size_t k,
                          PositivesBound positives = {}) {
  PrecisionGame game;
  RankingEquilibrium equilibrium;
  EXPECT_OK(game.Solve(psi, k, positives, &equilibrium));
  return equilibrium;
}

// p = k d is the probability of being chosen.
void ExpectIs(const RankingEquilibrium& equilibrium, size_t k, double value,
              std::vector<double> p, const std::vector<double>& q) {
  EXPECT_NEAR(equilibrium.value, value, 1e-15);
  for (double& pi : p) pi /= static_cast<double>(k);
  EXPECT_THAT(equilibrium.expected_discounts, AllNear(p, 1e-15));
  EXPECT_THAT(equilibrium.positive_probabilities, AllNear(q, 1e-15));
}

// The first is table 2 of the paper; its value holds for two positives only.
TEST(PrecisionGameTest, SolvesGamesWorkedOutByHand) {
  const double third = 2.0 / 3;
  ExpectIs(Solved({0.4, 0.4, 0.4}, 2, {2, 2}), 2, -2.0 / 15,
           {third, third, third}, {third, third, third});
  ExpectIs(Solved({0.4, 0.4, 0.4}, 2), 2, -0.2, {third, third, third},
           {1, 1, 1});
  const std::vector<double> psi = {1, 0.3, 0.1, -0.2};
  const std::vector<double> p = {1, 0.7, 0.3, 0};
  ExpectIs(Solved(psi, 2, {1, 1}), 2, -0.5, p, {1, 0, 0, 0});
  ExpectIs(Solved(psi, 2, {2, 2}), 2, -0.45, p, {1, 0.5, 0.5, 0});
  ExpectIs(Solved(psi, 2, {3, 3}), 2, -0.4, p, {1, 1, 1, 0});
  ExpectIs(Solved(psi, 2), 2, -0.5, p, {1, 0, 0, 0});
  const std::vector<double> even(5, 0.4);
  ExpectIs(Solved({0, 0, 0, 0, 0}, 2, {2, 2}), 2, 0.4, even, even);
  ExpectIs(Solved({0, 0, 0, 0, 0}, 2), 2, 0, even, {0, 0, 0, 0, 0});
  ExpectIs(Solved({0.5, 0.5, 0.1, 0.1}, 1, {2, 2}), 1, -0.1,
           {0.45, 0.45, 0.05, 0.05}, {0.5, 0.5, 0.5, 0.5});
  ExpectIs(Solved({3, 2, 1}, 2, {2, 2}), 2, -4, {1, 1, 0}, {1, 1, 0});
  ExpectIs(Solved({0.3, 0.2}, 2, {1, 1}), 2, 0.2, {1, 1}, {1, 0});
  ExpectIs(Solved({0.7}, 1, {1, 1}), 1, 0.3, {1}, {1});
  ExpectIs(Solved({0.7}, 1), 1, 0, {1}, {0});
  ExpectIs(Solved({0.2, 0.15, 0.1, 0.05, 0, -0.05}, 3, {3, 3}), 3, 0.275,
           {0.875, 0.725, 0.575, 0.425, 0.275, 0.125},
           {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
}

TEST(PrecisionGameTest, AgreesWithEverySetAgainstEveryLabelling) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 1000; ++trial) {
    const int n = 1 + trial % 6;
    const int k = 1 + static_cast<int>(random() % n);
    const std::vector<double> psi = RandomPotentials(n, &random);
    const PositivesRange range = RandomRange(n, &random);
    const OracleGame game = PrecisionAtKGame(ToEigen(psi), k, range);
    EXPECT_NEAR(ValueByEnumeration(game, AllSets(n, {k, k}), AllSets(n, range)),
                Solved(psi, k, Bound(range)).value,
                1e-9 * (1 + ToEigen(psi).cwiseAbs().sum()));
  }
}

TEST(PrecisionGameTest, AgreesWithPoolingAndIsCertified) {
  std::mt19937_64 random(22);
  PrecisionGame game;
  RankingGame pooling;
  RankingEquilibrium e;
  RankingEquilibrium pooled;
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = 1 + trial % 100;
    const size_t k = 1 + random() % (n + 2);
    const std::vector<double> psi = RandomPotentials(n, &random);
    const PositivesBound bound = Bound(RandomRange(n, &random));
    const Discounts discounts = Discounts::PrecisionAt(k).value();
    ASSERT_OK(game.Solve(psi, k, bound, &e));
    ASSERT_OK(pooling.Solve(psi, discounts, bound, &pooled));
    const double scale = 1 + ToEigen(psi).cwiseAbs().sum();
    EXPECT_NEAR(e.value, pooled.value, 1e-14 * scale);
    EXPECT_THAT(e.expected_discounts,
                AllNear(pooled.expected_discounts, 1e-14));
    const RankingCertificate certificate = CertifyRanking(
        psi, discounts, bound, e.expected_discounts, e.positive_probabilities);
    EXPECT_LE(certificate.predictor_violation, 1e-14);
    EXPECT_LE(certificate.adversary_violation, 1e-14 * (10 + n));
    EXPECT_NEAR(certificate.lower, e.value, 1e-14 * scale);
    EXPECT_NEAR(certificate.upper, e.value, 1e-14 * scale);
  }
}

TEST(PrecisionGameTest, HugePotentialsKeepEveryDigit) {
  // Potentials 0.25 apart at 2e15: p = 1/2 ± 0.125.
  const RankingEquilibrium e = Solved({2e15, 0.3, 2e15 - 0.25, -1e300}, 1);
  EXPECT_THAT(e.expected_discounts, AllNear({0.625, 0, 0.375, 0}, 1e-16));
  EXPECT_THAT(Solved({1e300, 0.1, 0.1}, 2).expected_discounts,
              AllNear({0.5, 0.25, 0.25}, 1e-16));
}

TEST(PrecisionGameTest, OrderIsSureThenByLotThenNever) {
  const RankingEquilibrium e = Solved({-0.2, 0.3, 1, 0.1}, 2);
  EXPECT_THAT(e.order, ::testing::ElementsAre(2, 1, 3, 0));
  ASSERT_EQ(e.blocks.size(), 1);
  EXPECT_EQ(e.blocks[0].start, 1);
  EXPECT_EQ(e.blocks[0].length, 2);
  EXPECT_NEAR(e.blocks[0].mean_discount, 0.25, 1e-15);
  EXPECT_NEAR(e.blocks[0].excess, 0.05, 1e-15);
}

TEST(PrecisionGameTest, RefusesWhatIsNoGame) {
  PrecisionGame game;
  RankingEquilibrium e;
  const std::vector<double> psi = {1, 2};
  EXPECT_THAT(game.Solve(psi, 0, {}, &e),
              IsInvalid(HasSubstr("k is 0, must be at least 1")));
  EXPECT_FALSE(game.Solve(psi, 1, {3, 3}, &e).ok());
  EXPECT_FALSE(game.Solve(std::vector<double>{HUGE_VAL}, 1, {}, &e).ok());
  EXPECT_OK(game.Solve(std::vector<double>{}, 1, {}, &e));
  EXPECT_EQ(e.value, 0);
}

}  // namespace
}  // namespace sortition
