#include "core/games/ranking/graded_game.h"

#include <limits>

#include "core/games/ranking/ranking_certificate.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

GradedEquilibrium Solved(const std::vector<double>& psi,
                         const std::vector<double>& gains,
                         const Discounts& discounts) {
  GradedGame game;
  GradedEquilibrium equilibrium;
  EXPECT_OK(game.Solve(psi, gains, discounts, &equilibrium));
  return equilibrium;
}

double Scale(const std::vector<double>& psi) {
  return 1 + ToEigen(psi).cwiseAbs().sum();
}

void ExpectCertified(const std::vector<double>& psi,
                     const std::vector<double>& gains,
                     const Discounts& discounts,
                     const GradedEquilibrium& equilibrium) {
  const RankingCertificate certificate = CertifyGradedRanking(
      psi, gains, discounts, equilibrium.expected_discounts,
      equilibrium.level_probabilities);
  const double rounding = 1e-14 * (10 + static_cast<double>(psi.size()));
  EXPECT_LE(certificate.predictor_violation, rounding);
  EXPECT_LE(certificate.adversary_violation, rounding);
  EXPECT_NEAR(certificate.lower, equilibrium.value, 1e-13 * Scale(psi));
  EXPECT_NEAR(certificate.upper, equilibrium.value, 1e-13 * Scale(psi));
}

// Random potentials: some that a model of gains would give, and some that it
// would not.
std::vector<double> RandomGradedPotentials(int n,
                                           const std::vector<double>& gains,
                                           std::mt19937_64* random) {
  const std::vector<double> slopes = RandomPotentials(n, random);
  const double noises[] = {0.1, 0.5, 5};
  std::normal_distribution<double> normal(0, noises[n % 3]);
  std::vector<double> psi;
  for (int i = 0; i < n; ++i) {
    for (size_t l = 0; l < gains.size(); ++l) {
      psi.push_back(
          l == 0 && n % 2 == 0 ? 0 : slopes[i] * gains[l] + normal(*random));
    }
  }
  return psi;
}

std::vector<double> Gains(size_t num_levels) {
  std::vector<double> gains;
  for (size_t l = 0; l < num_levels; ++l) gains.push_back((1 << l) - 1);
  return gains;
}

TEST(GradedGameTest, SolvesGamesWorkedOutByHand) {
  const std::vector<double> gains = {0, 1, 3};
  const Discounts dcg = Discounts::Dcg(3);
  // No slope is above a mean of discounts, so every item has level 0. The
  // targets 2/3 and 0.4 would share the first two ranks as 0.949 and 0.682, but
  // at its slope of 0.7 the second item gains nothing from a higher level.
  GradedEquilibrium e =
      Solved({0, 0.9, 2, 0, 0.7, 1.2, 0, 0.2, 0.3}, gains, dcg);
  EXPECT_NEAR(e.value, 0, 1e-14);
  EXPECT_THAT(e.expected_discounts, AllNear({kLog3 + 0.3, 0.7, 0.5}, 1e-13));
  EXPECT_THAT(e.level_probabilities, AllNear({1, 0, 0, 1, 0, 0, 1, 0, 0}, 0));
  // Level 1 is below the envelope of the first item: the adversary plays its
  // mean gain of 1 as a mixture of 0 and 3, and d is the envelope's slope.
  e = Solved({0, 0.2, 2.4, 0, 0.9, 1.5, 0, -0.1, 0.1}, gains, dcg);
  EXPECT_NEAR(e.value, -0.069070246428542, 1e-14);
  EXPECT_THAT(e.expected_discounts, AllNear({0.8, kLog3 + 0.2, 0.5}, 1e-13));
  EXPECT_THAT(e.level_probabilities,
              AllNear({2.0 / 3, 0, 1.0 / 3, 0, 1, 0, 1, 0, 0}, 1e-15));
  e = Solved({0, -0.1, 1.1, 0, 1, 2.4, 0, -0.6, 2.4}, gains, dcg);
  EXPECT_NEAR(e.value, -0.169070246428543, 1e-14);
  EXPECT_THAT(e.expected_discounts, AllNear({0.5, kLog3 + 0.2, 0.8}, 1e-13));
  EXPECT_THAT(e.level_probabilities,
              AllNear({1, 0, 0, 0, 1, 0, 2.0 / 3, 0, 1.0 / 3}, 1e-15));
}

TEST(GradedGameTest, AgreesWithEveryOrderAgainstEveryLabelling) {
  std::mt19937_64 random(31);
  for (int trial = 0; trial < 1000; ++trial) {
    const int num_levels = 2 + trial % 3;
    const int n = trial < 8 ? 5 : trial < 60 ? 4 : 1 + trial / 3 % 3;
    const std::vector<double> gains = Gains(num_levels);
    const std::vector<double> psi = RandomGradedPotentials(n, gains, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    const GradedEquilibrium e = Solved(psi, gains, discounts);
    ExpectCertified(psi, gains, discounts, e);
    const Eigen::MatrixXd rows =
        Eigen::Map<const Eigen::MatrixXd>(psi.data(), num_levels, n)
            .transpose();
    const OracleGame game =
        GradedDcgGame(rows, ToEigen(gains), ToEigen(discounts, n));
    EXPECT_NEAR(
        ValueByEnumeration(game, AllOrders(n), AllLabellings(n, num_levels)),
        e.value, 1e-9 * Scale(psi));
  }
}

TEST(GradedGameTest, ProvesLargeGames) {
  std::mt19937_64 random(32);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + trial;
    const std::vector<double> gains = Gains(2 + trial % 5);
    const std::vector<double> psi = RandomGradedPotentials(n, gains, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    ExpectCertified(psi, gains, discounts, Solved(psi, gains, discounts));
  }
}

TEST(GradedGameTest, OfTwoLevelsIsTheBinaryGame) {
  std::mt19937_64 random(33);
  RankingGame binary;
  RankingEquilibrium expected;
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + trial % 60;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    std::vector<double> rows;
    std::vector<double> q;
    for (const double value : psi) {
      rows.push_back(0);
      rows.push_back(value);
    }
    ASSERT_OK(binary.Solve(psi, discounts, {}, &expected));
    const GradedEquilibrium e = Solved(rows, {0, 1}, discounts);
    EXPECT_EQ(e.value, expected.value);
    EXPECT_THAT(e.expected_discounts,
                AllNear(expected.expected_discounts, 1e-13));
    for (int i = 0; i < n; ++i) q.push_back(e.level_probabilities[2 * i + 1]);
    EXPECT_EQ(q, expected.positive_probabilities);
  }
}

TEST(GradedGameTest, HugePotentialsSpoilNothing) {
  const std::vector<double> psi = {0, 1e17, 3e17, 0, 0.2,    2.4,   0, 0.9, 1.5,
                                   0, -0.1, 0.1,  0, -1e200, -1e200};
  const std::vector<double> gains = {0, 1, 3};
  const GradedEquilibrium e = Solved(psi, gains, Discounts::Dcg(5));
  EXPECT_LE(HullViolation(Discounts::Dcg(5), e.expected_discounts), 1e-14);
  EXPECT_NEAR(e.expected_discounts[0], 1, 1e-14);
  EXPECT_NEAR(e.expected_discounts[4], Discounts::Dcg(5)[4], 1e-14);
}

TEST(GradedGameTest, RefusesWhatIsNoGame) {
  GradedGame game;
  GradedEquilibrium e;
  const Discounts dcg = Discounts::Dcg(2);
  const auto solve = [&](std::vector<double> psi, std::vector<double> gains) {
    return game.Solve(psi, gains, dcg, &e);
  };
  EXPECT_OK(solve({}, {0, 1}));
  EXPECT_THAT(solve({0}, {0}), IsInvalid(HasSubstr("gains has 1 levels")));
  EXPECT_THAT(solve({0, 0}, {0.5, 1}),
              IsInvalid(HasSubstr("gains[0] is 0.5, must be 0")));
  EXPECT_THAT(solve({0, 0}, {0, 0}), IsInvalid(HasSubstr("gains[1] is 0")));
  EXPECT_THAT(solve({0, 0, 0}, {0, 1}),
              IsInvalid(HasSubstr("psi has 3 potentials")));
  EXPECT_THAT(solve({0, std::numeric_limits<double>::quiet_NaN()}, {0, 1}),
              IsInvalid(HasSubstr("psi[1] is nan")));
  EXPECT_THAT(solve({0, 1e300}, {0, 1e-10}),
              IsInvalid(HasSubstr("psi[1] makes a slope")));
}

}  // namespace
}  // namespace sortition
