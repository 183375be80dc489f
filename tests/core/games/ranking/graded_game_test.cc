#include "core/games/ranking/graded_game.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/games/ranking/ndcg_certificate.h"
#include "core/games/ranking/ndcg_game.h"
#include "core/games/ranking/order_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

GradedEquilibrium Solved(const std::vector<double>& psi,
                         const std::vector<double>& gains,
                         const Discounts& discounts) {
  GradedGame game;
  GradedEquilibrium equilibrium;
  EXPECT_OK(game.Solve(psi, gains, discounts, &equilibrium));
  return equilibrium;
}

void ExpectCertified(const std::vector<double>& psi,
                     const std::vector<double>& gains,
                     const Discounts& discounts,
                     const GradedEquilibrium& equilibrium) {
  ExpectProves(CertifyGradedRanking(psi, gains, discounts,
                                    equilibrium.expected_discounts,
                                    equilibrium.level_probabilities),
               equilibrium.value, equilibrium.value,
               1e-14 * (10 + static_cast<double>(psi.size())),
               1e-13 * Scale(psi));
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
  EXPECT_THAT(solve({0}, {0}), IsInvalidArgument("gains has 1 levels"));
  EXPECT_THAT(solve({0, 0}, {0.5, 1}),
              IsInvalidArgument("gains[0] is 0.5, must be 0"));
  EXPECT_THAT(solve({0, 0}, {0, 0}), IsInvalidArgument("gains[1] is 0"));
  EXPECT_THAT(solve({0, 0, 0}, {0, 1}),
              IsInvalidArgument("psi has 3 potentials"));
  EXPECT_THAT(solve({0, std::numeric_limits<double>::quiet_NaN()}, {0, 1}),
              IsInvalidArgument("psi[1] is nan"));
  EXPECT_THAT(solve({0, 1e300}, {0, 1e-10}),
              IsInvalidArgument("psi[1] makes a slope"));
}

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
  ExpectProves(CertifyNdcg(psi, Discounts::Dcg(psi.size()), options.empty_score,
                           e.expected_discounts, e.adversary),
               e.lower, e.upper, 1e-12, 1e-13 * Scale(psi));
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
    const double tolerance = 3e-9 * Scale(psi);
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
              IsInvalidArgument("psi has 0 items"));
  EXPECT_FALSE(game.Solve(psi, Discounts::Dcg(0), {}, &e).ok());
  EXPECT_THAT(game.Solve(psi, dcg, {.empty_score = HUGE_VAL}, &e),
              IsInvalidArgument("empty_score is inf"));
  EXPECT_FALSE(game.Solve(psi, dcg, {.tolerance = -1}, &e).ok());
  EXPECT_FALSE(
      game.Solve(
              std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 0},
              dcg, {}, &e)
          .ok());
}

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
                Solved(psi, k, Bound(range)).value, 1e-9 * Scale(psi));
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
    EXPECT_NEAR(e.value, pooled.value, 1e-14 * Scale(psi));
    EXPECT_THAT(e.expected_discounts,
                AllNear(pooled.expected_discounts, 1e-14));
    ExpectProves(CertifyRanking(psi, discounts, bound, e.expected_discounts,
                                e.positive_probabilities),
                 e.value, e.value, 1e-14 * (10 + n), 1e-14 * Scale(psi));
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
              IsInvalidArgument("k is 0, must be at least 1"));
  EXPECT_FALSE(game.Solve(psi, 1, {3, 3}, &e).ok());
  EXPECT_FALSE(game.Solve(std::vector<double>{HUGE_VAL}, 1, {}, &e).ok());
  EXPECT_OK(game.Solve(std::vector<double>{}, 1, {}, &e));
  EXPECT_EQ(e.value, 0);
}

// The number of pairs on which both orders agree, minus half the weight
// differences of the column's pairs.
double Payoff(const std::vector<double>& w, const GameAction& row,
              const GameAction& column) {
  const size_t n = w.size();
  std::vector<size_t> rank(n);
  for (size_t r = 0; r < n; ++r) rank[row[r]] = r;
  double payoff = 0;
  for (size_t r = 0; r < n; ++r) {
    for (size_t s = r + 1; s < n; ++s) {
      const int i = column[r];
      const int j = column[s];
      payoff += (rank[i] < rank[j] ? 1 : 0) - (w[i] - w[j]) / 2;
    }
  }
  return payoff;
}

std::vector<double> RandomWeights(int n, std::mt19937_64* random) {
  std::uniform_int_distribution<int> kind(0, 3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double spreads[] = {0.4, 1, 2, 8};
  const double spread = spreads[kind(*random)];
  const bool rounded = kind(*random) == 0;
  std::vector<double> w(n);
  for (double& weight : w) {
    weight = spread * uniform(*random);
    if (rounded) weight = std::round(weight * 4) / 4;
  }
  return w;
}

TEST(OrderGameTest, SumsOverPairs) {
  // Two pairs 0.9 apart count 1/2 each, one pair 1.8 apart counts 1 - 0.9.
  ASSERT_OK_AND_ASSIGN(const OrderGameValue chain,
                       SolveOrderGame(std::vector<double>{0, 0.9, 1.8}));
  EXPECT_NEAR(chain.guarantee, 1.1, 1e-15);
  EXPECT_FALSE(chain.exact);
  ASSERT_OK_AND_ASSIGN(const OrderGameValue groups,
                       SolveOrderGame(std::vector<double>{5, 0, 0.9, 4.5}));
  EXPECT_NEAR(groups.guarantee, 1 + 4 - (5 + 4.1 + 4.5 + 3.6) / 2, 1e-14);
  EXPECT_TRUE(groups.exact);
  EXPECT_EQ(SolveOrderGame({}).value().guarantee, 0);
}

TEST(OrderGameTest, IsTheValueOfTheWholeGame) {
  std::mt19937_64 random(51);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = trial < 15 ? 5 : 2 + trial % 3;
    const std::vector<double> w = RandomWeights(n, &random);
    OracleGame game;
    game.payoff = [&w](const GameAction& row, const GameAction& column) {
      return Payoff(w, row, column);
    };
    EXPECT_NEAR(SolveOrderGame(w).value().guarantee,
                ValueByEnumeration(game, AllOrders(n), AllOrders(n)), 1e-8);
  }
}

// Compares the closed form with the sum over pairs, and "exact" with a
// condition on groups.
TEST(OrderGameTest, FastSumIsTheSumOfPairs) {
  std::mt19937_64 random(52);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<double> w = RandomWeights(1 + trial % 40, &random);
    double sum = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        sum += std::min(0.5, 1 - std::abs(w[i] - w[j]) / 2);
      }
    }
    EXPECT_NEAR(SolveOrderGame(w).value().guarantee, sum,
                1e-13 * (1 + std::abs(sum)));
  }
}

TEST(BucketOrderTest, PropensitiesAddUpAndGiveEveryPairItsProbability) {
  std::mt19937_64 random(53);
  BucketOrder policy;
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 1 + trial % 6;
    const std::vector<double> w = RandomWeights(n, &random);
    ASSERT_OK(policy.Prepare(w));
    double total = 0;
    Eigen::MatrixXd before = Eigen::MatrixXd::Zero(n, n);
    for (const GameAction& order : AllOrders(n)) {
      const double p = std::exp(policy.LogPropensity(order));
      total += p;
      for (int r = 0; r < n; ++r) {
        for (int s = r + 1; s < n; ++s) before(order[r], order[s]) += p;
      }
    }
    EXPECT_NEAR(total, 1, 1e-13);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (i == j) continue;
        EXPECT_NEAR(before(i, j), PrecedenceProbability(w[i], w[j]), 1e-13);
      }
    }
  }
}

TEST(BucketOrderTest, DrawsAsOftenAsItSays) {
  const std::vector<double> w = {0.3, 0, 1.25, 0.7};
  BucketOrder policy;
  ASSERT_OK(policy.Prepare(w));
  std::map<GameAction, uint64_t> counts;
  constexpr int kDraws = 40000;
  GameAction order;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double log_p = policy.Draw(CounterRandom(SeedKey(draw)), &order);
    ASSERT_EQ(log_p, policy.LogPropensity(order));
    ++counts[order];
  }
  std::vector<uint64_t> observed;
  std::vector<double> probabilities;
  for (const GameAction& possible : AllOrders(4)) {
    observed.push_back(counts[possible]);
    probabilities.push_back(std::exp(policy.LogPropensity(possible)));
  }
  EXPECT_GT(ChiSquarePValue(observed, probabilities), 1e-4);
}

// 2000 items within 1 of each other at whole numbers make one bucket with n!
// orders: a probability would underflow, its logarithm does not. Weights may be
// large.
TEST(BucketOrderTest, LargeGamesStayInLogarithms) {
  BucketOrder policy;
  constexpr int kItems = 2000;
  ASSERT_OK(policy.Prepare(std::vector<double>(kItems, 7)));
  GameAction order(kItems);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_NEAR(policy.LogPropensity(order), -std::lgamma(kItems + 1.0), 1e-9);
  ASSERT_OK(policy.Prepare(std::vector<double>{1e300, -1e300, 0.5, 1e17}));
  EXPECT_EQ(policy.LogPropensity(GameAction{0, 3, 2, 1}), 0);
  EXPECT_EQ(policy.LogPropensity(GameAction{3, 0, 2, 1}), -HUGE_VAL);
}

TEST(BucketOrderTest, RefusesWhatIsNoWeight) {
  BucketOrder policy;
  const std::vector<double> w = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(policy.Prepare(w), IsInvalidArgument("w[1] is nan"));
  EXPECT_FALSE(SolveOrderGame(std::vector<double>{HUGE_VAL}).ok());
}

}  // namespace
}  // namespace sortition
