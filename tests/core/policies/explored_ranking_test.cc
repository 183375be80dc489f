// Plackett-Luce with rank factors and the order by score, explored, beyond the
// cases of enumeration.h: numbers derived by hand, the most probable order,
// what is impossible, and long orders.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

// Scores log 2, 0, -log 2. With the factor 2 the weights of rank 0 are 4, 1 and
// 1/4, which sum to 21/4; with the factor 1 those of rank 1 are 2, 1 and 1/2.
TEST(FactoredRankingTest, ThreeCandidatesByHand) {
  DistributionCase c = Factored({2, 1}, {std::log(2.0), 0, -std::log(2.0)}, 3);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 16. / 21 * 2 / 3, 1e-15);
  EXPECT_NEAR(Probability(c, {0, 2, 1}), 16. / 21 * 1 / 3, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0, 2}), 4. / 21 * 4 / 5, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 2, 0}), 4. / 21 * 1 / 5, 1e-15);
  EXPECT_NEAR(Probability(c, {2, 0, 1}), 1. / 21 * 2 / 3, 1e-15);
  EXPECT_NEAR(Probability(c, {2, 1, 0}), 1. / 21 * 1 / 3, 1e-15);
  // ∂ log p by the scores: 2 (1 - 16/21); -2 · 4/21 + (1 - 2/3); -2 · 1/21 -
  // 1/3.
  std::vector<double> gradient(3);
  double none = 1;
  c.Distribution()->LogPropensityGradient(c.Candidates(), Action{0, 1, 2},
                                          gradient, &none);
  EXPECT_NEAR(gradient[0], 10. / 21, 1e-15);
  EXPECT_NEAR(gradient[1], 1. / 3 - 8. / 21, 1e-15);
  EXPECT_NEAR(gradient[2], -2. / 21 - 1. / 3, 1e-15);
  EXPECT_EQ(none, 0);
  c.top_k = 1;
  EXPECT_NEAR(Probability(c, {1}), 4. / 21, 1e-15);
  std::vector<double> first(3);
  c.Distribution()->FirstProbabilities(c.Candidates(), first);
  EXPECT_NEAR(first[0], 16. / 21, 1e-15);
  EXPECT_NEAR(first[1], 4. / 21, 1e-15);
  EXPECT_NEAR(first[2], 1. / 21, 1e-15);
}

// No factors: other draws and other bits would make logged decisions
// impossible to verify. Factors of 1 are the same distribution, drawn
// otherwise.
TEST(FactoredRankingTest, NoFactorsArePlackettLuceAsItWas) {
  const std::vector<double> scores = {0.3, -1.2, 0.8, 0.0, 1.6};
  const RankingDistribution plain(1, 0.1);
  for (const bool ones : {false, true}) {
    DistributionCase c = Factored(
        ones ? std::vector<double>{1, 1, 1} : std::vector<double>{}, scores, 4);
    c.uniform_mixture = 0.1;
    const auto distribution = c.Distribution();
    Draw draw;
    Draw expected;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      plain.Sample(c.Candidates(), CounterRandom(SeedKey(seed)), &expected);
      if (!ones) {
        distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed)),
                             &draw);
        ASSERT_EQ(draw.action, expected.action);
        ASSERT_EQ(draw.log_propensity, expected.log_propensity);
        ASSERT_EQ(draw.conditional_log_propensities,
                  expected.conditional_log_propensities);
      }
      ASSERT_NEAR(distribution->LogPropensity(c.Candidates(), expected.action),
                  expected.log_propensity, 1e-14);
    }
  }
}

// Scores 1, 0, 0 and the factors 1/100, 1: both orders are nearly as probable
// at rank 0, but at rank 1 the best candidate has e / (1 + e), and another one
// 1/2.
TEST(FactoredRankingTest, RisingFactorsCanHaveAnotherMode) {
  const DistributionCase c = Factored({0.01, 1}, {1, 0, 0}, 2);
  const double first = std::exp(0.01) / (2 + std::exp(0.01));
  const double best = std::exp(1.0) / (1 + std::exp(1.0));
  EXPECT_NEAR(Probability(c, {0, 1}), first / 2, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0}), (1 - first) / 2 * best, 1e-15);
  EXPECT_GT(Probability(c, {1, 0}), Probability(c, {0, 1}));
  EXPECT_EQ(c.Distribution()->Mode(c.Candidates()), (Action{0, 1}));
}

TEST(FactoredRankingTest, LimitIsOnTheLargestLogit) {
  // Any factor counts, whichever ranks are asked for.
  EXPECT_EQ(Probability(Factored({1, 1e6}, {2e3, 0}, 1), {0}), 0);
  EXPECT_EQ(Probability(Factored({1, 1e6}, {1e3, 0}, 1), {0}), 1);
  // Two candidates T apart: log p = -T - log1p(e^-T).
  const DistributionCase far = Factored({2, 1}, {1e4, -1e4}, 2);
  EXPECT_EQ(far.Distribution()->LogPropensity(far.Candidates(), Action{0, 1}),
            0);
  EXPECT_EQ(far.Distribution()->LogPropensity(far.Candidates(), Action{1, 0}),
            -4e4);
}

// Scores log 3, 0, 0 and w = 0.4. The first two swap with probability 2 w
// σ(-log 3) = 2 · 0.4 / 4 = 0.2, the last two, a tie, with 0.4. Half of the
// time each pair may.
TEST(SortedRankingTest, ThreeCandidatesByHand) {
  DistributionCase c = Sorted(0.4, {std::log(3.0), 0, 0}, 3);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.8 / 2 + 0.6 / 2, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0, 2}), 0.2 / 2, 1e-15);
  EXPECT_NEAR(Probability(c, {0, 2, 1}), 0.4 / 2, 1e-15);
  for (const Action& action :
       std::vector<Action>{{1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
  }
  // Rank by rank: 0 is first with 0.9, then 1 follows with 0.7 / 0.9.
  std::vector<double> conditionals;
  c.Distribution()->ConditionalLogPropensities(c.Candidates(), Action{0, 1, 2},
                                               &conditionals);
  EXPECT_NEAR(std::exp(conditionals[0]), 0.9, 1e-15);
  EXPECT_NEAR(std::exp(conditionals[1]), 7. / 9, 1e-15);
  EXPECT_NEAR(conditionals[2], 0, 1e-15);
  c.Distribution()->ConditionalLogPropensities(c.Candidates(), Action{1, 2, 0},
                                               &conditionals);
  EXPECT_NEAR(std::exp(conditionals[0]), 0.1, 1e-15);
  EXPECT_EQ(conditionals[1], -HUGE_VAL);
  EXPECT_EQ(conditionals[2], -HUGE_VAL);
  // The first ranks can end within a pair.
  c.top_k = 2;
  EXPECT_NEAR(Probability(c, {0, 2}), 0.2, 1e-15);
  c.top_k = 1;
  EXPECT_NEAR(Probability(c, {0}), 0.9, 1e-15);
  EXPECT_NEAR(Probability(c, {1}), 0.1, 1e-15);
  EXPECT_EQ(LogPropensity(c, {2}), -HUGE_VAL);
  std::vector<double> first(3);
  c.Distribution()->FirstProbabilities(c.Candidates(), first);
  EXPECT_NEAR(first[0], 0.9, 1e-15);
  EXPECT_NEAR(first[1], 0.1, 1e-15);
  EXPECT_EQ(first[2], 0);
}

// The same candidates. Half of the time the first two are shuffled: 1/4 for
// each of their orders; and 3/10 of all orders are uniform: 1/20 for each.
TEST(SortedRankingTest, MixturesByHand) {
  DistributionCase c = Sorted(0.4, {std::log(3.0), 0, 0}, 3, 0.5, 2);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.35 + 0.25, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0, 2}), 0.05 + 0.25, 1e-15);
  EXPECT_NEAR(Probability(c, {0, 2, 1}), 0.1, 1e-15);
  EXPECT_EQ(LogPropensity(c, {2, 1, 0}), -HUGE_VAL);
  c.uniform_mixture = 0.3;
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.7 * 0.6 + 0.05, 1e-15);
  EXPECT_NEAR(Probability(c, {2, 1, 0}), 0.05, 1e-15);
  c.uniform_mixture = 0;
  c.sorted->set_shuffle_ranks(3);
  EXPECT_NEAR(Probability(c, {2, 1, 0}), 0.5 / 6, 1e-15);
  c.sorted->set_shuffle_probability(1);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 1. / 6, 1e-15);
}

TEST(SortedRankingTest, HasNoGradient) {
  EXPECT_FALSE(Sorted(0.4, {1, 0}, 2).Distribution()->has_gradient());
}

// A swap is 2 w σ(-x) rounded to a multiple of 2^-52. Beyond x = 37 or so that
// is 0: then it never happens, and is logged as impossible.
TEST(SortedRankingTest, SwapsAreOnTheGridOfTheNumbers) {
  for (const double x : {0.1, 1.0, 10.0, 30.0, 34.0}) {
    const double p = 2 * Probability(Sorted(0.3, {x, 0}, 2), {1, 0});
    EXPECT_NEAR(p, 0.6 / (1 + std::exp(x)), 0x1p-51);
    const double steps = p * 0x1p52;
    EXPECT_NEAR(steps, std::round(steps), 1e-9 * steps);
    EXPECT_GT(p, 0);
  }
  EXPECT_EQ(LogPropensity(Sorted(0.3, {40, 0}, 2), {1, 0}), -HUGE_VAL);
  EXPECT_EQ(LogPropensity(Sorted(0.3, {40, 0}, 2), {0, 1}), 0);
  // A shuffle that was asked for stays possible.
  EXPECT_NEAR(LogPropensity(Sorted(0, {9, 0}, 2, 1e-300, 2), {1, 0}),
              -52 * std::log(2.0), 1e-13);
}

// The way of exploring is clear only at the end; until then the filter must
// neither lose nor forget a way. All pairs from rank 1 on swap: 2^-1 · w^k.
TEST(SortedRankingTest, LongOrdersKeepTheirDigits) {
  for (const size_t n : {size_t{11}, size_t{1001}}) {
    DistributionCase c =
        Sorted(0.25, std::vector<double>(n), static_cast<uint32_t>(n));
    Action order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto pairs = static_cast<double>(n / 2);
    // No pair swaps, of either kind.
    EXPECT_NEAR(LogPropensity(c, order), pairs * std::log(0.75), 1e-12 * pairs);
    for (size_t r = 1; r + 1 < n; r += 2) std::swap(order[r], order[r + 1]);
    EXPECT_NEAR(LogPropensity(c, order), pairs * std::log(0.25) - std::log(2.0),
                1e-12 * pairs);
    // A pair of the other kind makes it impossible.
    std::swap(order[0], order[1]);
    EXPECT_EQ(LogPropensity(c, order), -HUGE_VAL);
  }
}

// Full support is promised only where it does not depend on the scores: by the
// shuffle, if it is of all candidates.
TEST(SortedRankingTest, KnowsItsSupport) {
  for (const uint32_t n : {1u, 2u, 3u, 4u}) {
    for (const double shuffle : {0.0, 0.1}) {
      std::vector<double> scores(n);
      for (uint32_t i = 0; i < n; ++i) scores[i] = 1e3 * i;
      const DistributionCase c = Sorted(0.4, scores, n, shuffle, 3);
      bool all = true;
      for (const Action& action : AllActions(c)) {
        all = all && LogPropensity(c, action) > -HUGE_VAL;
      }
      EXPECT_EQ(HasFullSupport(c.Policy(), n), all) << n << " " << shuffle;
    }
  }
}

}  // namespace
}  // namespace sortition
