#include "core/games/ranking/ndcg_game.h"

#include <limits>

#include "core/games/ranking/ndcg_certificate.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

NdcgEquilibrium Solved(const std::vector<double>& psi,
                       const NdcgOptions& options) {
  NdcgGame game;
  NdcgEquilibrium equilibrium;
  EXPECT_OK(game.Solve(psi, Discounts::Dcg(psi.size()), options, &equilibrium));
  return equilibrium;
}

double ValueOfWhole(const std::vector<double>& psi,
                    std::optional<double> empty_score) {
  const auto n = static_cast<int>(psi.size());
  OracleGame game = DcgGame(ToEigen(psi), DcgDiscounts(n), {0, n});
  game.payoff = [&psi, n, empty_score](const GameAction& row,
                                       const GameAction& column) {
    double dcg = 0;
    double ideal = 0;
    double potential = 0;
    int found = 0;
    for (int r = 0; r < n; ++r) {
      potential += psi[r] * column[r];
      dcg += column[row[r]] / std::log2(r + 2);
      if (column[r] != 0) ideal += 1 / std::log2(++found + 1);
    }
    return (found == 0 ? *empty_score : dcg / ideal) - potential;
  };
  return ValueByEnumeration(game, AllOrders(n),
                            AllSets(n, {empty_score.has_value() ? 0 : 1, n}));
}

TEST(NdcgGameTest, SolvesGamesWorkedOutByHand) {
  // Items are alike: each stands at a uniformly random rank.
  const double third = (1.5 + 1 / std::log2(3)) / 3;
  NdcgEquilibrium e = Solved({0, 0, 0}, {});
  EXPECT_EQ(e.status, NdcgStatus::kClosed);
  EXPECT_NEAR(e.upper, third, 1e-14);
  EXPECT_THAT(e.expected_discounts, AllNear({third, third, third}, 1e-14));
  ASSERT_EQ(e.adversary.size(), 1);
  EXPECT_EQ(e.adversary[0].num_positives, 1);
  // Everything is relevant: an NDCG of 1 for 0.6 of potential.
  e = Solved({0.3, 0.2, 0.1}, {});
  EXPECT_EQ(e.status, NdcgStatus::kClosed);
  EXPECT_NEAR(e.lower, 0.4, 1e-9);
  e = Solved({0.3, 0.2, 0.1}, {.empty_score = 0});
  EXPECT_EQ(e.status, NdcgStatus::kClosed);
  EXPECT_EQ(e.upper, 0);
  EXPECT_EQ(e.adversary[0].num_positives, 0);
  e = Solved({0.6, 0.5, -0.2, 0.1}, {});
  EXPECT_EQ(e.status, NdcgStatus::kClosed);
  EXPECT_NEAR(e.lower, -0.2, 1e-9);
  EXPECT_THAT(e.positive_probabilities, AllNear({1, 1, 0, 1}, 1e-14));
}

void ExpectCertified(const std::vector<double>& psi, const NdcgOptions& options,
                     const NdcgEquilibrium& e) {
  const double rounding = 1e-13 * (1 + ToEigen(psi).cwiseAbs().sum());
  const RankingCertificate certificate =
      CertifyNdcg(psi, Discounts::Dcg(psi.size()), options.empty_score,
                  e.expected_discounts, e.adversary);
  EXPECT_LE(certificate.predictor_violation, 1e-12);
  EXPECT_LE(certificate.adversary_violation, 1e-12);
  EXPECT_NEAR(certificate.lower, e.lower, rounding);
  EXPECT_NEAR(certificate.upper, e.upper, rounding);
}

NdcgOptions OptionsOf(int trial) {
  NdcgOptions options;
  if (trial % 3 == 0) options.empty_score = 0;
  if (trial % 3 == 1) options.empty_score.reset();
  return options;
}

TEST(NdcgGameTest, AgreesWithEveryOrderAgainstEveryLabelling) {
  std::mt19937_64 random(41);
  for (int trial = 0; trial < 1000; ++trial) {
    const int n = trial < 10 ? 6 : trial < 60 ? 5 : 1 + trial % 4;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const NdcgOptions options = OptionsOf(trial);
    const NdcgEquilibrium e = Solved(psi, options);
    EXPECT_EQ(e.status, NdcgStatus::kClosed);
    const double value = ValueOfWhole(psi, options.empty_score);
    const double tolerance = 3e-9 * (1 + ToEigen(psi).cwiseAbs().sum());
    EXPECT_NEAR(e.lower, value, tolerance);
    EXPECT_NEAR(e.upper, value, tolerance);
    ExpectCertified(psi, options, e);
  }
}

// Some games need a mixture of sizes; a single size leaves a gap.
TEST(NdcgGameTest, MixesSizesWhereOneDoesNotDo) {
  std::mt19937_64 random(42);
  int num_mixed = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 4 + trial % 30;
    const std::vector<double> psi = RandomPotentials(n, &random);
    NdcgOptions options = OptionsOf(trial);
    const NdcgEquilibrium e = Solved(psi, options);
    EXPECT_EQ(e.status, NdcgStatus::kClosed);
    ExpectCertified(psi, options, e);
    if (e.adversary.size() == 1) continue;
    ++num_mixed;
    options.max_rounds = 0;
    const NdcgEquilibrium alone = Solved(psi, options);
    EXPECT_EQ(alone.status, NdcgStatus::kGap);
    EXPECT_LE(alone.lower, e.upper);
    EXPECT_GE(alone.upper, e.lower);
    ExpectCertified(psi, options, alone);
  }
  EXPECT_GT(num_mixed, 3);
}

// Dividing by the ideal DCG of known labels gives a ranking game.
TEST(NdcgGameTest, ConstantNormaliserScalesTheDiscounts) {
  const std::vector<double> psi = {0.4, 0.3, 0.25, -0.1};
  const Discounts dcg = Discounts::Dcg(4);
  const double ideal = dcg[0] + dcg[1];
  ASSERT_OK_AND_ASSIGN(const Discounts ndcg, dcg.ScaledBy(1 / ideal));
  RankingGame game;
  RankingEquilibrium e;
  ASSERT_OK(game.Solve(psi, ndcg, {2, 2}, &e));
  EXPECT_NEAR(
      e.value,
      ValueByEnumeration(DcgGame(ToEigen(psi), DcgDiscounts(4) / ideal, {2, 2}),
                         AllOrders(4), AllSets(4, {2, 2})),
      1e-9);
}

TEST(NdcgGameTest, RefusesWhatIsNoGame) {
  NdcgGame game;
  NdcgEquilibrium e;
  const std::vector<double> psi = {0.1, 0};
  const Discounts dcg = Discounts::Dcg(2);
  EXPECT_THAT(game.Solve({}, dcg, {}, &e),
              IsInvalid(HasSubstr("psi has 0 items")));
  EXPECT_FALSE(game.Solve(psi, Discounts::Dcg(0), {}, &e).ok());
  EXPECT_THAT(game.Solve(psi, dcg, {.empty_score = HUGE_VAL}, &e),
              IsInvalid(HasSubstr("empty_score is inf")));
  EXPECT_FALSE(game.Solve(psi, dcg, {.tolerance = -1}, &e).ok());
  EXPECT_FALSE(
      game.Solve(
              std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 0},
              dcg, {}, &e)
          .ok());
}

}  // namespace
}  // namespace sortition
