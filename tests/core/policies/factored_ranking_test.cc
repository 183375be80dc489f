// Plackett-Luce with rank factors beyond the cases of enumeration.h: numbers
// derived by hand, the most probable order, scores of any size, and pinned
// bits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

DistributionCase Factored(std::vector<double> factors,
                          std::vector<double> scores, uint32_t top_k) {
  DistributionCase c;
  c.kind = ActionKind::kRank;
  c.scores = std::move(scores);
  c.top_k = top_k;
  c.rank_factors = std::move(factors);
  return c;
}

double Probability(const DistributionCase& c, const Action& action) {
  return std::exp(c.Distribution()->LogPropensity(c.Candidates(), action));
}

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

// For any scores, either the draw is possible and replays bit for bit, whatever
// the buffers held before, or everything is refused.
TEST(FactoredRankingTest, DrawsReplayBitForBit) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  int refused = 0;
  for (uint64_t round = 0; round < 2000; ++round) {
    const size_t n = 1 + random.Below(round % 50 == 0 ? 500 : 20);
    const double scale = std::pow(10.0, 20 * random.Uniform() - 10);
    std::vector<double> scores(n);
    for (double& score : scores) score = scale * random.Normal();
    std::vector<double> factors(1 + random.Below(6));
    for (double& factor : factors) factor = std::exp(2 * random.Normal());
    DistributionCase c =
        Factored(factors, scores, static_cast<uint32_t>(1 + random.Below(n)));
    c.uniform_mixture = random.Below(2) == 0 ? 0 : 0.1;
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    const auto distribution = c.Distribution();
    distribution->Sample(candidates, CounterRandom(SeedKey(round)), &draw);
    ASSERT_EQ(draw.action.size(), c.top_k);
    ASSERT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
              draw.log_propensity);
    double largest = 0;
    for (const double score : scores) {
      largest = std::max(largest, std::abs(score));
    }
    largest *= *std::max_element(factors.begin(), factors.end());
    ASSERT_EQ(std::isfinite(draw.log_propensity), largest <= 1e9);
    if (largest > 1e9) {
      ++refused;
      continue;
    }
    const double sum =
        std::accumulate(draw.conditional_log_propensities.begin(),
                        draw.conditional_log_propensities.end(), 0.0);
    ASSERT_NEAR(sum, draw.log_propensity, 1e-11 * std::max(1.0, std::abs(sum)));
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 1000);
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

TEST(FactoredRankingTest, IllFormedActionsAreImpossible) {
  for (const double epsilon : {0.0, 0.5}) {
    DistributionCase c = Factored({2, 1}, {1, 2, 3}, 2);
    c.uniform_mixture = epsilon;
    for (const Action& action :
         std::vector<Action>{{}, {0}, {0, 0}, {0, 3}, {-1, 0}, {0, 1, 2}}) {
      EXPECT_EQ(Probability(c, action), 0);
    }
  }
}

// Pinned: a change of one bit makes logged decisions impossible to verify. The
// values come from another implementation of these functions and of Philox.
TEST(FactoredRankingTest, KeepsTheBitsOfLoggedDecisions) {
  DistributionCase c =
      Factored({2, 0.5, 1}, {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9}, 6);
  c.inverse_temperature = 1.75;
  struct Golden {
    uint64_t key;
    double mixture;
    Action action;
    double log_propensity;
    double last_conditional;
  };
  for (const Golden& golden : std::vector<Golden>{{1,
                                                   0.125,
                                                   {3, 7, 2, 1, 6, 0},
                                                   -0x1.c31ce1902a279p+2,
                                                   -0x1.a6ac05ace694bp-1},
                                                  {5,
                                                   0.125,
                                                   {6, 7, 3, 0, 1, 4},
                                                   -0x1.334ca89ebe03dp+3,
                                                   -0x1.905909c506f55p-1},
                                                  // The uniform part.
                                                  {16,
                                                   0.125,
                                                   {6, 3, 4, 2, 7, 1},
                                                   -0x1.4d02f48b578aap+3,
                                                   -0x1.c376296f686d4p-1},
                                                  {2,
                                                   0,
                                                   {3, 0, 4, 7, 2, 5},
                                                   -0x1.09d9677a2c3bep+3,
                                                   -0x1.1ace29db5cac5p+1}}) {
    c.uniform_mixture = golden.mixture;
    Draw draw;
    c.Distribution()->Sample(
        c.Candidates(), CounterRandom(Hash128{golden.key, golden.key + 10}),
        &draw);
    EXPECT_EQ(draw.action, golden.action);
    EXPECT_EQ(draw.log_propensity, golden.log_propensity)
        << absl::StrFormat("%a", draw.log_propensity);
    EXPECT_EQ(draw.conditional_log_propensities.back(), golden.last_conditional)
        << absl::StrFormat("%a", draw.conditional_log_propensities.back());
  }
}

}  // namespace
}  // namespace sortition
