// Rankings drawn by a game, against the game solved as the papers state it, and
// as they are served: replayed bit for bit, and through a model's policy.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/distribution_case.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameRanking;

// Returns the discounts of the game for n ranks.
std::vector<double> DiscountsOf(const GameRanking& game, size_t n) {
  std::vector<double> discounts(n, 0);
  for (size_t r = 0; r < n; ++r) {
    if (game.cutoff() > 0 && r >= game.cutoff()) break;
    discounts[r] = game.discount() == GameRanking::DCG
                       ? 1 / std::log2(static_cast<double>(r) + 2)
                       : 1. / game.cutoff();
  }
  return discounts;
}

class GameRankingTest : public testing::TestWithParam<DistributionCase> {};

// The mixture's expected discounts are the projection of α s on the hull of D'
// = (1-ε) D + ε mean(D): the game over all policies that explore as much.
TEST_P(GameRankingTest, MixtureIsOptimalAmongThoseThatExploreAsMuch) {
  DistributionCase c = GetParam();
  if (c.uniform_mixture == 1 || c.game_ranking->plackett_luce_mixture() > 0)
    return;
  const size_t n = c.scores.size();
  c.top_k = static_cast<uint32_t>(n);
  const auto distribution = c.Distribution();
  const std::vector<double> by_rank = DiscountsOf(*c.game_ranking, n);
  std::vector<double> mean(n, 0);
  for (const Action& action : AllActions(c)) {
    const double p =
        std::exp(distribution->LogPropensity(c.Candidates(), action));
    for (size_t r = 0; r < n; ++r) mean[action[r]] += p * by_rank[r];
  }
  const double even = std::accumulate(by_rank.begin(), by_rank.end(), 0.0) /
                      static_cast<double>(n);
  std::vector<double> mixed;
  for (const double d : by_rank) {
    mixed.push_back((1 - c.uniform_mixture) * d + c.uniform_mixture * even);
  }
  ASSERT_OK_AND_ASSIGN(const Discounts discounts, Discounts::Create(mixed));
  std::vector<double> psi;
  for (const double score : c.scores) {
    psi.push_back(c.inverse_temperature * score);
  }
  RankingGame game;
  RankingEquilibrium equilibrium;
  ASSERT_OK(game.Solve(psi, discounts, {}, &equilibrium));
  for (size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(mean[i], equilibrium.expected_discounts[i], 1e-12) << i;
  }
}

// (1-ε) ((1-η) game + η Plackett-Luce) + ε uniform, computed from its three
// parts.
TEST_P(GameRankingTest, PartsAddUpToTheMixture) {
  const DistributionCase& c = GetParam();
  const double eta = c.game_ranking->plackett_luce_mixture();
  if (eta == 0) return;
  DistributionCase pure = c;
  // The game of ψ / (1-ε).
  pure.inverse_temperature /= 1 - c.uniform_mixture;
  pure.uniform_mixture = 0;
  pure.game_ranking->set_plackett_luce_mixture(0);
  const RankingDistribution plackett_luce(
      c.inverse_temperature * c.game_ranking->plackett_luce_scale(), 0);
  const auto distribution = c.Distribution();
  const std::vector<Action> actions = AllActions(c);
  const double uniform = 1 / static_cast<double>(actions.size());
  for (const Action& action : actions) {
    const double game =
        std::exp(pure.Distribution()->LogPropensity(pure.Candidates(), action));
    const double other =
        std::exp(plackett_luce.LogPropensity(c.Candidates(), action));
    EXPECT_NEAR(std::exp(distribution->LogPropensity(c.Candidates(), action)),
                (1 - c.uniform_mixture) * ((1 - eta) * game + eta * other) +
                    c.uniform_mixture * uniform,
                1e-14);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GameRankingTest,
                         testing::ValuesIn(GameRankingCases()), CaseName);

// Random scores, for which a prefix of the most probable order might not be the
// most probable prefix.
TEST(GameRankingModeTest, IsMostProbableForRandomScores) {
  RandomSequence random(SeedKey(2));
  for (int round = 0; round < 1000; ++round) {
    DistributionCase c = GameRankingCase({}, {}, 1);
    c.scores.resize(2 + random.Below(4));
    for (double& score : c.scores) score = random.Uniform();
    c.top_k = static_cast<uint32_t>(1 + random.Below(c.scores.size()));
    c.game_ranking =
        Game(random.Below(3) == 0 ? GameRanking::PRECISION : GameRanking::DCG,
             static_cast<uint32_t>(1 + random.Below(5)));
    c.game_ranking->set_block_mixing(0);
    c.inverse_temperature = 0.1 + random.Uniform();
    const auto distribution = c.Distribution();
    const double log_p = distribution->LogPropensity(
        c.Candidates(), distribution->Mode(c.Candidates()));
    for (const Action& action : AllActions(c)) {
      ASSERT_LE(distribution->LogPropensity(c.Candidates(), action),
                log_p + 1e-13);
    }
  }
}

// Serving and verification are different processes with other buffers.
TEST(GameRankingLargeTest, LargeRankingsReplayBitForBit) {
  for (const size_t n : {1000u, 3000u}) {
    std::vector<double> scores(n);
    RandomSequence random(SeedKey(3));
    for (double& score : scores) score = random.Uniform();
    for (const uint32_t top_k : {1u, 10u, 1000u}) {
      for (const uint32_t cutoff : {0u, 10u}) {
        for (const double epsilon : {0.0, 0.1}) {
          const DistributionCase c = GameRankingCase(
              scores, Game(GameRanking::DCG, cutoff), top_k, epsilon);
          DistributionScratch scratch;
          ScoredCandidates candidates = c.Candidates();
          candidates.scratch = &scratch;
          const auto distribution = c.Distribution();
          for (uint64_t seed = 0; seed < 20; ++seed) {
            Draw draw;
            distribution->Sample(candidates, CounterRandom(SeedKey(seed)),
                                 &draw);
            ASSERT_TRUE(std::isfinite(draw.log_propensity));
            ASSERT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
            const double sum =
                std::accumulate(draw.conditional_log_propensities.begin(),
                                draw.conditional_log_propensities.end(), 0.0);
            ASSERT_NEAR(sum, draw.log_propensity,
                        1e-11 * std::max(1.0, std::abs(sum)));
          }
        }
      }
    }
  }
}

// For any scores, what is drawn is possible and replays.
TEST(GameRankingLargeTest, DrawsFromScoresOfAnySize) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  for (int round = 0; round < 600; ++round) {
    DistributionCase c = GameRankingCase({}, {}, 1);
    c.scores.resize(1 + random.Below(round % 10 == 0 ? 2000 : 30));
    const double scale = std::pow(10.0, 500 * random.Uniform() - 280);
    const double offset = random.Below(3) == 0 ? 1e3 * scale : 0;
    for (double& score : c.scores) {
      score = offset + scale * (random.Below(2) == 0
                                    ? static_cast<double>(random.Below(5))
                                    : random.Normal());
    }
    c.top_k = static_cast<uint32_t>(1 + random.Below(c.scores.size()));
    c.game_ranking =
        Game(random.Below(2) == 0 ? GameRanking::DCG : GameRanking::PRECISION,
             static_cast<uint32_t>(1 + random.Below(40)));
    c.game_ranking->set_block_mixing(0.25 *
                                     static_cast<double>(random.Below(5)));
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    const auto distribution = c.Distribution();
    for (uint64_t seed = 0; seed < 5; ++seed) {
      distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
      ASSERT_TRUE(std::isfinite(draw.log_propensity));
      ASSERT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
                draw.log_propensity);
    }
  }
}

// The reported value is that of the game with the mixture in its discounts, as
// its solver computes it; Plackett-Luce lowers the guarantee.
TEST(GameRankingLargeTest, SaysWhatItGuarantees) {
  for (const double epsilon : {0.0, 0.2}) {
    DistributionCase c =
        GameRankingCase({0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9},
                        Game(GameRanking::DCG, 5), 3, epsilon);
    ScoredCandidates candidates = c.Candidates();
    Draw draw;
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    EXPECT_FALSE(draw.game.has_value());
    candidates.game.return_bounds = true;
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    RankingGame game;
    RankingEquilibrium equilibrium;
    ASSERT_OK_AND_ASSIGN(
        const Discounts mixed,
        Discounts::Dcg(5).MixedWithUniform(epsilon, c.scores.size()));
    ASSERT_OK(game.Solve(c.scores, mixed, {}, &equilibrium));
    ASSERT_TRUE(draw.game.has_value());
    EXPECT_NEAR(draw.game->lower, equilibrium.value, 1e-12);
    EXPECT_NEAR(draw.game->upper, equilibrium.value, 1e-12);
    c.game_ranking->set_plackett_luce_mixture(0.1);
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    EXPECT_LT(draw.game->lower, equilibrium.value);
    EXPECT_NEAR(draw.game->upper, equilibrium.value, 1e-12);
  }
}

TEST(GameRankingLargeTest, PotentialsOutOfRangeMakeEveryOrderImpossible) {
  for (const double score : {1e301, 1e10}) {
    // 1e10: too large for the noise of Plackett-Luce.
    const double mixture = score == 1e10 ? 0.1 : 0;
    DistributionCase c =
        GameRankingCase({score, 0}, Game(GameRanking::DCG, 0), 2, mixture);
    c.game_ranking->set_plackett_luce_mixture(mixture);
    const Draw draw = SampleOf(c, SeedKey(1));
    EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
    EXPECT_EQ(draw.action.size(), 2u);
    EXPECT_EQ(LogPropensity(c, draw.action), -HUGE_VAL);
  }
}

// The scores are the features. A mask leaves the game of the other candidates;
// candidates in another order are ranked as before.
TEST(GameRankingPolicyTest, MasksAndOrderOfCandidatesDoNotMatter) {
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy policy,
      LinearPolicy::Create(
          GameRankingCase({}, Game(GameRanking::DCG, 0), 3, 0.1).Policy(),
          {1}));
  const std::vector<float> features = {0.3f, 0.9f, 0.1f, 0.35f, 0.7f};
  const std::vector<float> reversed(features.rbegin(), features.rend());
  const bool eligible[] = {true, false, true, true, true};
  const bool eligible_reversed[] = {true, true, true, false, true};
  const std::vector<float> left = {0.3f, 0.1f, 0.35f, 0.7f};
  const int32_t documents[] = {0, 2, 3, 4};
  PolicyWorkspace workspace;
  Draw draw;
  Draw other;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const PolicyQuery query = {Candidates::DenseUnchecked(features, 1),
                               eligible, 3};
    policy.Decide(query, SeedKey(seed), &workspace, &draw);
    EXPECT_EQ(policy.LogPropensity(query, draw.action, &workspace),
              draw.log_propensity);
    policy.Decide({Candidates::DenseUnchecked(left, 1), {}, 3}, SeedKey(seed),
                  &workspace, &other);
    EXPECT_EQ(other.log_propensity, draw.log_propensity);
    for (size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(documents[other.action[r]], draw.action[r]);
    }
    const PolicyQuery turned = {Candidates::DenseUnchecked(reversed, 1),
                                eligible_reversed, 3};
    Action action = draw.action;
    for (int32_t& document : action) document = 4 - document;
    EXPECT_EQ(policy.LogPropensity(turned, action, &workspace),
              draw.log_propensity);
  }
}

}  // namespace
}  // namespace sortition
