#include "core/games/ranking/ranking_game.h"

#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/games/ranking/discounts.h"
#include "core/games/ranking/graded_game.h"
#include "core/games/ranking/ndcg_game.h"
#include "core/games/ranking/order_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_certificate.h"
#include "core/games/ranking/smoothed_adversary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr double kLog5 = 0.430676558073393050;  // 1 / log2(5).

void ExpectIs(const RankingEquilibrium& equilibrium, double value,
              const std::vector<double>& d, const std::vector<double>& q) {
  EXPECT_NEAR(equilibrium.value, value, 1e-14);
  EXPECT_THAT(equilibrium.expected_discounts, AllNear(d, 1e-14));
  EXPECT_THAT(equilibrium.positive_probabilities, AllNear(q, 1e-14));
}

// Expects the strategies to be feasible and to prove the value.
void ExpectCertified(const std::vector<double>& psi, const Discounts& discounts,
                     const PositivesBound& positives,
                     const RankingEquilibrium& equilibrium) {
  // Sums of n numbers of up to 1 round by about this much.
  const double rounding = 1e-14 * (10 + static_cast<double>(psi.size()));
  ExpectProves(
      CertifyRanking(psi, discounts, positives, equilibrium.expected_discounts,
                     equilibrium.positive_probabilities),
      equilibrium.value, equilibrium.value, rounding, 1e-13 * Scale(psi));
}

TEST(RankingGameTest, SolvesGamesWorkedOutByHand) {
  const double third = (1 + kLog3 + 0.5) / 3;
  const double pair = (1 + kLog3) / 2;
  const Discounts dcg3 = Discounts::Dcg(3);
  const Discounts dcg4 = Discounts::Dcg(4);
  // One block, because all items are alike; the free adversary cannot win
  // anything.
  ExpectIs(Solved({0, 0, 0}, dcg3), 0, {third, third, third}, {0, 0, 0});
  ExpectIs(Solved({0, 0, 0}, dcg3, {1, 1}), third, {third, third, third},
           {1.0 / 3, 1.0 / 3, 1.0 / 3});
  // Potentials fall as fast as the discounts: the equilibrium is the sorted
  // order.
  ExpectIs(Solved({0.9, 0.5, 0.2}, dcg3), 0, {1, kLog3, 0.5}, {0, 0, 0});
  // (1 + kLog3 + 1/2 - 2.4) / 3 < 0 pools the first three.
  const std::vector<double> psi = {0.9, 0.8, 0.7, -0.1};
  const std::vector<double> d = {third + 0.1, third, third - 0.1, kLog5};
  const double v = third - 0.8;
  ExpectIs(Solved(psi, dcg4), 3 * v, d, {1, 1, 1, 0});
  ExpectIs(Solved(psi, dcg4, {2, 2}), 2 * v, d, {2.0 / 3, 2.0 / 3, 2.0 / 3, 0});
  ExpectIs(Solved({2, 0.6, 0.55, 0.1}, dcg4, {2, 2}),
           -1 + (kLog3 + 0.5) / 2 - 0.575,
           {1, (kLog3 + 0.5) / 2 + 0.025, (kLog3 + 0.5) / 2 - 0.025, kLog5},
           {1, 0.5, 0.5, 0});
  ExpectIs(Solved({0.5, 0.5, -1}, dcg3, {1, 1}), pair - 0.5, {pair, pair, 0.5},
           {0.5, 0.5, 0});
}

TEST(RankingGameTest, SolvesTruncatedAndLetorDiscounts) {
  // DCG@2: ranks 2 to 4 pool at (kLog3 + 0 + 0) / 3.
  const double mean = kLog3 / 3;
  const std::vector<double> psi = {1.2, 0.4, 0.4, 0.3};
  const std::vector<double> d = {1, mean + 0.1 / 3, mean + 0.1 / 3,
                                 mean - 0.2 / 3};
  ExpectIs(Solved(psi, Discounts::Dcg(2)), 1 + kLog3 - 2.3, d, {1, 1, 1, 1});
  ExpectIs(Solved(psi, Discounts::Dcg(2), {2, 2}), -0.2 + mean - 1.1 / 3, d,
           {1, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  ExpectIs(Solved({0.8, 0.8, 0.3}, Discounts::Letor(3)), 0, {1, 1, kLog3},
           {0, 0, 0});
}

TEST(RankingGameTest, HugePotentialsKeepEveryDigitOfTheDiscounts) {
  const Discounts dcg = Discounts::Dcg(4);
  const double pair = (1 + kLog3) / 2;
  EXPECT_THAT(Solved({1e17, 0.9, 0.7, 0.2}, dcg).expected_discounts,
              AllNear({1, kLog3, 0.5, kLog5}, 1e-15));
  EXPECT_THAT(Solved({1e17, 1e17, 0.7, 0.2}, dcg).expected_discounts,
              AllNear({pair, pair, 0.5, kLog5}, 1e-15));
  EXPECT_THAT(Solved({-1e300, 1e300, 1e300, 0}, dcg).expected_discounts,
              AllNear({kLog5, pair, pair, 0.5}, 1e-15));
  // 0.5 apart at 4e15, where doubles are 0.5 apart: 1 - 0.5 < 0.63, no pooling,
  // though 0.63 + 4e15 is no double.
  EXPECT_THAT(Solved({4e15, 4e15 - 0.5, 0, 0}, dcg).expected_discounts,
              AllNear({1, kLog3, (0.5 + kLog5) / 2, (0.5 + kLog5) / 2}, 1e-15));
}

TEST(RankingGameTest, AgreesWithEveryOrderAgainstEveryLabelling) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 1000; ++trial) {
    const int n = trial < 20 ? 6 : trial < 100 ? 5 : 1 + trial % 4;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    const PositivesRange range = RandomRange(n, &random);
    const RankingEquilibrium equilibrium = Solved(psi, discounts, Bound(range));
    ExpectCertified(psi, discounts, Bound(range), equilibrium);
    const OracleGame game = DcgGame(ToEigen(psi), ToEigen(discounts, n), range);
    EXPECT_NEAR(ValueByEnumeration(game, AllOrders(n), AllSets(n, range)),
                equilibrium.value, 1e-9 * Scale(psi));
  }
}

TEST(RankingGameTest, ProvesLargeGamesForAnyExpectedNumber) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + trial;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    std::uniform_real_distribution<double> count(0, n);
    const double fewest = count(random);
    for (const PositivesBound& bound :
         {PositivesBound{}, PositivesBound{fewest, fewest},
          PositivesBound{fewest / 2, fewest}}) {
      ExpectCertified(psi, discounts, bound, Solved(psi, discounts, bound));
    }
  }
}

// A game with few discounts is solved by a heap. The same discounts followed by
// many others, too small to count but not zero, are solved by sorting.
TEST(RankingGameTest, HeapAndSortingAgree) {
  std::mt19937_64 random(13);
  int num_shorter = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 20 + trial;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const PositivesBound bound = Bound(RandomRange(n, &random));
    std::vector<double> by_rank(n, 1e-300);
    const Discounts few = Discounts::Dcg(n / 10);
    std::copy(few.by_rank().begin(), few.by_rank().end(), by_rank.begin());
    const Discounts many = Discounts::Create(by_rank).value();
    ASSERT_EQ(many.size(), n);
    const RankingEquilibrium by_heap = Solved(psi, few, bound);
    const RankingEquilibrium by_sorting = Solved(psi, many, bound);
    ASSERT_LE(by_heap.blocks.size(), by_sorting.blocks.size());
    num_shorter += by_heap.blocks.size() < by_sorting.blocks.size() ? 1 : 0;
    EXPECT_THAT(by_heap.expected_discounts,
                AllNear(by_sorting.expected_discounts, 1e-15));
    EXPECT_NEAR(by_heap.value, by_sorting.value, 1e-13 * Scale(psi));
    ExpectCertified(psi, few, bound, by_heap);
  }
  EXPECT_GT(num_shorter, 50);  // The heap left some items out.
}

TEST(RankingGameTest, BlocksHoldTheirItemsDiscounts) {
  std::mt19937_64 random(14);
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 1 + trial % 50;
    const std::vector<double> psi = RandomPotentials(n, &random);
    const Discounts discounts = RandomDiscounts(n, &random);
    const RankingEquilibrium e = Solved(psi, discounts);
    std::vector<int> times(n, 0);
    for (const int32_t item : e.order) ++times[item];
    EXPECT_THAT(times, ::testing::Each(1));
    int32_t next = 0;
    for (const PooledBlock& block : e.blocks) {
      EXPECT_EQ(block.start, next);
      next += block.length;
      double of_items = 0;
      double of_ranks = 0;
      for (int32_t r = block.start; r < next; ++r) {
        of_items += e.expected_discounts[e.order[r]];
        of_ranks += discounts[r];
        EXPECT_NEAR(e.expected_discounts[e.order[r]] - psi[e.order[r]],
                    block.excess, 1e-14 * (1 + std::abs(block.excess)));
      }
      EXPECT_NEAR(of_items, of_ranks, 1e-13);
      EXPECT_NEAR(block.mean_discount, of_ranks / block.length, 1e-14);
    }
    for (int32_t r = next; r < n; ++r) {
      EXPECT_EQ(e.expected_discounts[e.order[r]], 0);
    }
  }
}

// -q is the gradient of the value with respect to ψ, where it exists.
TEST(RankingGameTest, AdversaryIsTheGradient) {
  const std::vector<double> psi = {0.9, 0.81, 0.7, -0.1, 0.3};
  const Discounts dcg = Discounts::Dcg(5);
  const RankingEquilibrium e = Solved(psi, dcg, {2.5, 2.5});
  for (size_t i = 0; i < psi.size(); ++i) {
    std::vector<double> moved = psi;
    moved[i] += 1e-6;
    EXPECT_NEAR((Solved(moved, dcg, {2.5, 2.5}).value - e.value) / 1e-6,
                -e.positive_probabilities[i], 1e-6);
  }
}

TEST(RankingGameTest, ItemsMayComeInAnyOrderAndShift) {
  std::mt19937_64 random(15);
  const std::vector<double> psi = RandomPotentials(40, &random);
  const Discounts dcg = Discounts::Dcg(40);
  const RankingEquilibrium e = Solved(psi, dcg);
  const std::vector<double> reversed(psi.rbegin(), psi.rend());
  std::vector<double> back = Solved(reversed, dcg).expected_discounts;
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, e.expected_discounts);
  std::vector<double> shifted = psi;
  for (double& value : shifted) value += 3;
  EXPECT_THAT(Solved(shifted, dcg).expected_discounts,
              AllNear(e.expected_discounts, 1e-13));
}

// A constant feature shifts every ψ. With m positives the value moves by -m
// times the shift and the strategies stay. The slope of Σ ψ y - V is Σ y - m.
// It is never 0 if the adversary has fewer positives than the labels, as in
// section 4 of the paper, and then learning diverges along that feature.
TEST(RankingGameTest, OnlyTheLabelsOwnNumberCanMatchAConstantFeature) {
  std::mt19937_64 random(18);
  for (int trial = 0; trial < 50; ++trial) {
    const std::vector<double> psi = RandomPotentials(20, &random);
    const Discounts precision = Discounts::PrecisionAt(5).value();
    const RankingEquilibrium e = Solved(psi, precision, {5, 5});
    std::vector<double> shifted = psi;
    for (double& value : shifted) value += 2;
    const RankingEquilibrium moved = Solved(shifted, precision, {5, 5});
    EXPECT_NEAR(moved.value, e.value - 5 * 2, 1e-12 * (1 + std::abs(e.value)));
    EXPECT_THAT(moved.positive_probabilities,
                AllNear(e.positive_probabilities, 1e-12));
  }
}

TEST(RankingGameTest, EmptyAndSingleGames) {
  ExpectIs(Solved({}, Discounts::Dcg(3)), 0, {}, {});
  ExpectIs(Solved({0.7}, Discounts::Dcg(1)), 0, {1}, {0});
  ExpectIs(Solved({0.7}, Discounts::Dcg(1), {1, 1}), 0.3, {1}, {1});
  ExpectIs(Solved({2, 1}, Discounts::Dcg(0)), -3, {0, 0}, {1, 1});
  ExpectIs(Solved({2, 1, 1}, Discounts::Dcg(0), {2, 2}), -3, {0, 0, 0},
           {1, 0.5, 0.5});
}

TEST(RankingGameTest, RefusesWhatIsNoGame) {
  RankingGame game;
  RankingEquilibrium e;
  const Discounts dcg = Discounts::Dcg(2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(game.Solve(std::vector<double>{0, nan}, dcg, {}, &e),
              IsInvalidArgument("psi[1] is nan"));
  EXPECT_THAT(game.Solve(std::vector<double>{2e300}, dcg, {}, &e),
              IsInvalidArgument("psi[0] is 2e+300"));
  const std::vector<double> psi = {1, 0};
  EXPECT_THAT(game.Solve(psi, dcg, {3, 3}, &e),
              IsInvalidArgument("positives.fewest is 3"));
  EXPECT_THAT(game.Solve(psi, dcg, {1, 0.5}, &e),
              IsInvalidArgument("positives.most is 0.5"));
  EXPECT_FALSE(game.Solve(psi, dcg, {0, 2.5}, &e).ok());
  EXPECT_FALSE(game.Solve(psi, dcg, {nan, 1}, &e).ok());
  EXPECT_FALSE(game.Solve(psi, dcg, {0, nan}, &e).ok());
}

TEST(RankingCertificateTest, SeesWhatIsNoEquilibrium) {
  const std::vector<double> psi = {0.9, 0.8, 0.7, -0.1};
  const Discounts dcg = Discounts::Dcg(4);
  RankingEquilibrium e = Solved(psi, dcg);
  RankingCertificate certificate =
      CertifyRanking(psi, dcg, {}, dcg.by_rank(), e.positive_probabilities);
  EXPECT_LT(certificate.lower, e.value - 0.1);
  certificate = CertifyRanking(psi, dcg, {}, e.expected_discounts,
                               std::vector<double>{1, 0, 1, 0});
  EXPECT_GT(certificate.upper, e.value + 0.1);
  e.expected_discounts[0] += 0.01;
  certificate = CertifyRanking(psi, dcg, {1, 2}, e.expected_discounts,
                               e.positive_probabilities);
  EXPECT_NEAR(certificate.predictor_violation, 0.01, 1e-14);
  EXPECT_NEAR(certificate.adversary_violation, 1, 1e-14);
}

TEST(DiscountsTest, RefusesWhatARankCannotBeWorth) {
  EXPECT_THAT(Discounts::Create({1, 1.5}),
              IsInvalidArgument("discounts[1] is 1.5"));
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
                e.value, 1e-9 * Scale(psi));
    discounts.TakeOutUniform(epsilon, e.expected_discounts);
    EXPECT_LE(HullViolation(discounts, e.expected_discounts), 1e-13);
  }
}

// A solver that has solved a game of some size allocates nothing for the next
// ones.

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

TEST(SmoothedAdversaryTest, IsTheGradientOfAValueNearby) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 2 + trial % 8;
    const double mu = trial % 2 == 0 ? 0.1 : 2;
    const Discounts dcg = Discounts::Dcg(n);
    const std::vector<double> psi = RandomPotentials(n, &random);
    const double m = 0.3 * n;
    const PositivesBound bounds[] = {{}, {m, m}, {m, 2 * m}};
    const PositivesBound& bound = bounds[trial % 3];
    const auto smoothed = [&](const std::vector<double>& at,
                              std::vector<double>* q) {
      const RankingEquilibrium e = Solved(at, dcg, bound);
      q->resize(n);
      const double value =
          SmoothAdversary(at, e.expected_discounts, bound, mu, *q).value();
      // The strategies of the smoothed game are a pair of best responses: no d
      // does better against q.
      const RankingCertificate certificate =
          CertifyRanking(at, dcg, bound, e.expected_discounts, *q);
      EXPECT_LE(certificate.adversary_violation, 1e-12);
      double square = 0;
      for (const double qi : *q) square += qi * qi;
      EXPECT_NEAR(certificate.upper + mu / 2 * square, value, 1e-11);
      EXPECT_GE(value, e.value - 1e-11);
      EXPECT_LE(value, e.value + mu / 2 * n + 1e-11);
      return value;
    };
    std::vector<double> q;
    std::vector<double> unused;
    smoothed(psi, &q);
    for (int i = 0; i < n; ++i) {
      std::vector<double> low = psi;
      std::vector<double> high = psi;
      low[i] -= 1e-5;
      high[i] += 1e-5;
      EXPECT_NEAR((smoothed(high, &unused) - smoothed(low, &unused)) / 2e-5,
                  -q[i], 1e-4);
    }
  }
}

TEST(SmoothedAdversaryTest, HoldsTheNumberBesideHugePotentials) {
  const std::vector<double> psi = {1e300, 1e17, 0.5, 0.4, -1e300};
  const RankingEquilibrium e = Solved(psi, Discounts::Dcg(5));
  std::vector<double> q(5);
  const PositivesBound bound = {2.5, 2.5};
  EXPECT_OK(SmoothAdversary(psi, e.expected_discounts, bound, 1, q));
  EXPECT_NEAR(q[0] + q[1] + q[2] + q[3] + q[4], 2.5, 1e-14);
  EXPECT_EQ(q[1], 1);
  EXPECT_EQ(q[4], 0);
  EXPECT_FALSE(SmoothAdversary(psi, e.expected_discounts, bound, 0, q).ok());
}

}  // namespace
}  // namespace sortition
