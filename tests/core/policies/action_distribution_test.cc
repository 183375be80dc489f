#include "core/policies/distributions/action_distribution.h"

#include <cmath>
#include <numeric>

#include "core/policies/distribution_factory.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

// At 1e17 the noise of the draw is below half a unit in the last place: of two
// equal candidates the first would always come first, but be logged with 1/2.
TEST(RankingDistributionTest, RefusesLogitsThatSwallowTheNoise) {
  for (const double epsilon : {0.0, 0.1}) {
    for (const double score : {1e17, -1e17, 1.001e9}) {
      const DistributionCase c = Ranking({score, score}, 2, epsilon);
      const Draw draw = SampleOf(c, SeedKey(1));
      EXPECT_EQ(draw.log_propensity, -HUGE_VAL) << score;
      EXPECT_EQ(LogPropensity(c, draw.action), -HUGE_VAL) << score;
      std::vector<double> gradient(2, 7);
      double abstain_gradient = 7;
      EXPECT_EQ(c.Distribution()->LogPropensityGradient(
                    c.Candidates(), draw.action, gradient, &abstain_gradient),
                -HUGE_VAL);
      EXPECT_EQ(gradient, std::vector<double>(2, 0));
    }
    const DistributionCase c = Ranking({1e9, -1e9}, 2, epsilon);
    EXPECT_TRUE(std::isfinite(LogPropensity(c, {1, 0})));
  }
  // The limit is on the logit, not the score.
  DistributionCase c = Ranking({1e4, 1e4}, 2);
  c.inverse_temperature = 1e6;
  EXPECT_EQ(LogPropensity(c, {0, 1}), -HUGE_VAL);
  // Uniform orders have no logits.
  EXPECT_NEAR(LogPropensity(Ranking({1e17, 1e17}, 2, 1), {0, 1}), -std::log(2),
              1e-15);
}

TEST(ActionDistributionTest, ImpossibleActionsHaveNoGradient) {
  std::vector<double> gradient = {1, 1};
  double abstain = 1;
  EXPECT_EQ(
      Selection({1, 2}).Distribution()->LogPropensityGradient(
          Selection({1, 2}).Candidates(), Action{kAbstain}, gradient, &abstain),
      -HUGE_VAL);
  EXPECT_EQ(gradient, std::vector<double>({0, 0}));
  EXPECT_EQ(abstain, 0);
}

// A selection among m, or abstaining: 1/(m+1). The first 2 of 5: 3!/5!.
TEST(UniformDistributionTest, EveryActionIsEquallyLikely) {
  const auto select = MakeUniformDistribution(ActionKind::kSelect);
  const std::vector<double> scores = {5, -3, 1, 0, 0};
  ScoredCandidates candidates;
  candidates.scores = scores;
  EXPECT_EQ(select->action_kind(), ActionKind::kSelect);
  EXPECT_NEAR(select->LogPropensity(candidates, Action{1}), -std::log(5),
              1e-15);
  candidates.abstain_score = 2;
  EXPECT_NEAR(select->LogPropensity(candidates, Action{kAbstain}), -std::log(6),
              1e-15);
  const auto rank = MakeUniformDistribution(ActionKind::kRank);
  candidates.top_k = 2;
  EXPECT_EQ(rank->action_kind(), ActionKind::kRank);
  EXPECT_NEAR(rank->LogPropensity(candidates, Action{4, 0}), -std::log(20),
              1e-15);
  EXPECT_EQ(rank->Mode(candidates), (Action{0, 1}));
}

// Certain actions have probability exactly 1; in a mixture 0.7 + 0.3 rounds.
TEST(ActionDistributionTest, CertaintyIsExact) {
  EXPECT_EQ(LogPropensity(Selection({3}), {0}), 0);
  EXPECT_EQ(LogPropensity(Ranking({3}, 1), {0}), 0);
  EXPECT_EQ(LogPropensity(Selection({1e4, -1e4}), {0}), 0);
  EXPECT_EQ(LogPropensity(Selection({1e4, -1e4}), {1}), -2e4);
  EXPECT_EQ(LogPropensity(Ranking({1e4, -1e4}, 2), {1, 0}), -2e4);
  EXPECT_NEAR(LogPropensity(Selection({3}, 0.3), {0}), 0, 1e-16);
  EXPECT_NEAR(LogPropensity(Ranking({3}, 1, 0.3), {0}), 0, 1e-16);
  // At the last rank of a full order there is no choice.
  std::vector<double> conditionals;
  const DistributionCase rank = Ranking({1, 2, 3}, 3, 0.1);
  rank.Distribution()->ConditionalLogPropensities(
      rank.Candidates(), Action{0, 1, 2}, &conditionals);
  EXPECT_NEAR(conditionals[2], 0, 1e-16);
}

// The mixture bounds the probability from below: ε / c where the policy gives
// e^-20000.
TEST(ActionDistributionTest, MixtureBoundsTheProbabilityFromBelow) {
  EXPECT_NEAR(LogPropensity(Selection({1e4, -1e4}, 0.01), {1}),
              std::log(0.01 / 2), 1e-14);
  EXPECT_NEAR(LogPropensity(Ranking({1e4, -1e4, 0}, 3, 0.01), {1, 2, 0}),
              std::log(0.01 / 6), 1e-14);
}

TEST(ActionDistributionTest, DrawIsAFunctionOfTheKey) {
  const DistributionCase c = Ranking({0.1, 0.2, 0.3, 0.4, 0.5}, 5, 0.1);
  const auto distribution = c.Distribution();
  Draw first;
  Draw again;
  int same = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed)), &first);
    distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed)), &again);
    EXPECT_EQ(first.action, again.action);
    EXPECT_EQ(first.log_propensity, again.log_propensity);
    distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed + 1000)),
                         &again);
    same += first.action == again.action ? 1 : 0;
  }
  EXPECT_LT(same, 20);  // About 1 in 120 by chance.
}

// A million candidates with scores over ±1e4, in orders of one, some and all
// ranks.
class LargeTest : public testing::TestWithParam<double> {};

TEST_P(LargeTest, MillionCandidatesStayExact) {
  constexpr size_t kCandidates = 1000000;
  std::vector<double> scores(kCandidates);
  RandomSequence random(SeedKey(5));
  for (double& score : scores) score = 2e4 * random.Uniform() - 1e4;
  DistributionScratch scratch;
  for (const uint32_t top_k : {0u, 1u, 10u, 1000u, 1000000u}) {
    DistributionCase c = top_k == 0 ? Selection(scores, GetParam())
                                    : Ranking(scores, top_k, GetParam());
    const auto distribution = c.Distribution();
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    Draw draw;
    distribution->Sample(candidates, CounterRandom(SeedKey(9)), &draw);
    EXPECT_TRUE(std::isfinite(draw.log_propensity));
    EXPECT_LE(draw.log_propensity, 0);
    EXPECT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
              draw.log_propensity);
    // The reversed order has the smallest probability, which is still finite.
    if (top_k == kCandidates) {
      Action mode = distribution->Mode(candidates);
      std::reverse(mode.begin(), mode.end());
      const double log_p = distribution->LogPropensity(candidates, mode);
      EXPECT_TRUE(std::isfinite(log_p));
      EXPECT_LT(log_p, -1e6);
    }
    const double sum =
        std::accumulate(draw.conditional_log_propensities.begin(),
                        draw.conditional_log_propensities.end(), 0.0);
    if (top_k > 0) {
      EXPECT_NEAR(sum, draw.log_propensity,
                  1e-10 * std::max(1.0, std::abs(sum)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtures, LargeTest, testing::Values(0, 0.1, 1));

// m equal scores: the full order has probability 1/m!, by Stirling (lgamma).
TEST(ActionDistributionTest, MillionEqualCandidates) {
  constexpr uint32_t kCandidates = 1000000;
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    const DistributionCase c =
        Ranking(std::vector<double>(kCandidates, -1e4), kCandidates, epsilon);
    Action order(kCandidates);
    std::iota(order.begin(), order.end(), 0);
    EXPECT_NEAR(LogPropensity(c, order) / -std::lgamma(kCandidates + 1.0), 1,
                1e-12);
  }
}

// The top 65 and more are sorted in a different way than the top 64.
TEST(ActionDistributionTest, LongAndShortOrdersAgree) {
  std::vector<double> scores(300);
  std::iota(scores.begin(), scores.end(), 0.0);
  scores[7] = 299;  // A tie for the first rank: the lower position has it.
  Draw shorter;
  Draw longer;
  const auto distribution = Ranking(scores, 64).Distribution();
  ScoredCandidates candidates;
  candidates.scores = scores;
  candidates.top_k = 64;
  const Action mode64 = distribution->Mode(candidates);
  distribution->Sample(candidates, CounterRandom(SeedKey(1)), &shorter);
  candidates.top_k = 300;
  const Action mode300 = distribution->Mode(candidates);
  distribution->Sample(candidates, CounterRandom(SeedKey(1)), &longer);
  EXPECT_EQ(mode64[0], 7);
  EXPECT_EQ(mode64[1], 299);
  for (size_t r = 0; r < 64; ++r) {
    EXPECT_EQ(mode64[r], mode300[r]);
    EXPECT_EQ(shorter.action[r], longer.action[r]);
  }
}

}  // namespace
}  // namespace sortition
