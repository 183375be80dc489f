// Rankings drawn by a game as they are served: replayed bit for bit for any
// size and score, and through a model's policy.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/game_ranking_case.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameRanking;
using ::testing::HasSubstr;

// Serving and verification are different processes with other buffers.
TEST(GameRankingLargeTest, LargeRankingsReplayBitForBit) {
  for (const size_t n : {1000u, 3000u}) {
    std::vector<double> scores(n);
    RandomSequence random(SeedKey(3));
    for (double& score : scores) score = random.Uniform();
    for (const uint32_t top_k : {1u, 10u, 1000u}) {
      for (const uint32_t cutoff : {0u, 10u}) {
        for (const double epsilon : {0.0, 0.1}) {
          GameRankingCase c;
          c.scores = scores;
          c.game = Game(GameRanking::DCG, cutoff);
          c.top_k = top_k;
          c.uniform_mixture = epsilon;
          DistributionScratch scratch;
          ScoredCandidates candidates = c.Candidates();
          candidates.scratch = &scratch;
          const auto distribution = c.Distribution();
          for (uint64_t seed = 0; seed < 20; ++seed) {
            Draw draw;
            distribution->Sample(candidates, CounterRandom(SeedKey(seed)),
                                 &draw);
            ASSERT_TRUE(std::isfinite(draw.log_propensity));
            ASSERT_EQ(
                c.Distribution()->LogPropensity(c.Candidates(), draw.action),
                draw.log_propensity);
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
    GameRankingCase c;
    c.scores.resize(1 + random.Below(round % 10 == 0 ? 2000 : 30));
    const double scale = std::pow(10.0, 500 * random.Uniform() - 280);
    const double offset = random.Below(3) == 0 ? 1e3 * scale : 0;
    for (double& score : c.scores) {
      score = offset + scale * (random.Below(2) == 0
                                    ? static_cast<double>(random.Below(5))
                                    : random.Normal());
    }
    c.top_k = static_cast<uint32_t>(1 + random.Below(c.scores.size()));
    c.game =
        Game(random.Below(2) == 0 ? GameRanking::DCG : GameRanking::PRECISION,
             static_cast<uint32_t>(1 + random.Below(40)));
    c.game.set_block_mixing(0.25 * static_cast<double>(random.Below(5)));
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
    GameRankingCase c;
    c.scores = {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9};
    c.game = Game(GameRanking::DCG, 5);
    c.uniform_mixture = epsilon;
    c.top_k = 3;
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
    c.game.set_plackett_luce_mixture(0.1);
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    EXPECT_LT(draw.game->lower, equilibrium.value);
    EXPECT_NEAR(draw.game->upper, equilibrium.value, 1e-12);
  }
}

// Pinned: a change of one bit makes logged decisions impossible to verify.
TEST(GameRankingLargeTest, KeepsTheBitsOfLoggedDecisions) {
  GameRankingCase c;
  c.scores = {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9};
  c.game = Game(GameRanking::DCG, 0);
  c.game.set_plackett_luce_mixture(0.25);
  c.top_k = 5;
  c.inverse_temperature = 0.75;
  c.uniform_mixture = 0.1;
  struct Golden {
    uint64_t seed;
    Action action;
    double log_propensity;
    double last_conditional;
  };
  for (const Golden& golden : std::vector<Golden>{
           {1, {0, 6, 7, 4, 1}, -0x1.464970f46a39p+3, -0x1.7fbe06bb28049p+0},
           {4, {3, 7, 4, 1, 0}, -0x1.3e951f7307b53p+1, -0x1.9a75ad3b8a6dbp-4},
           {8,
            {3, 7, 2, 0, 6},
            -0x1.5c722c4274cbbp+2,
            -0x1.8c1e8b2a0d411p+0}}) {
    Draw draw;
    c.Distribution()->Sample(c.Candidates(),
                             CounterRandom(SeedKey(golden.seed)), &draw);
    EXPECT_EQ(draw.action, golden.action);
    EXPECT_EQ(draw.log_propensity, golden.log_propensity)
        << absl::StrFormat("%a", draw.log_propensity);
    EXPECT_EQ(draw.conditional_log_propensities.back(), golden.last_conditional)
        << absl::StrFormat("%a", draw.conditional_log_propensities.back());
  }
}

TEST(GameRankingLargeTest, PotentialsOutOfRangeMakeEveryOrderImpossible) {
  for (const double score : {1e301, 1e10}) {
    const double epsilon = score == 1e10 ? 0.1 : 0;
    GameRankingCase c;
    c.scores = {score, 0};
    c.game = Game(GameRanking::DCG, 0);
    // 1e10: too large for the noise of Plackett-Luce.
    c.game.set_plackett_luce_mixture(score == 1e10 ? 0.1 : 0);
    c.top_k = 2;
    c.uniform_mixture = epsilon;
    Draw draw;
    c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(1)), &draw);
    EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
    EXPECT_EQ(draw.action.size(), 2u);
    EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), draw.action),
              -HUGE_VAL);
  }
}

TEST(GameRankingLargeTest, IllFormedActionsAreImpossible) {
  GameRankingCase c;
  c.scores = {1, 2, 3};
  c.game = Game(GameRanking::DCG, 0);
  c.top_k = 2;
  c.uniform_mixture = 0.5;
  for (const Action& action :
       std::vector<Action>{{}, {0}, {0, 0}, {0, 3}, {-1, 0}, {0, 1, 2}}) {
    EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
              -HUGE_VAL);
  }
}

model::v1::Policy GamePolicy(double epsilon) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(epsilon);
  *policy.mutable_game_ranking() = Game(GameRanking::DCG, 0);
  return policy;
}

// The scores are the features. A mask leaves the game of the other candidates;
// candidates in another order are ranked as before.
TEST(GameRankingPolicyTest, MasksAndOrderOfCandidatesDoNotMatter) {
  ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                       LinearPolicy::Create(GamePolicy(0.1), {1}));
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

TEST(GameRankingPolicyTest, NamesWhatIsWrong) {
  const auto message = [](auto change) {
    model::v1::Policy policy = GamePolicy(0.1);
    change(policy.mutable_game_ranking());
    return std::string(MakeActionDistribution(policy).status().message());
  };
  EXPECT_EQ(message([](GameRanking*) {}), "");
  EXPECT_THAT(message([](GameRanking* g) { g->clear_discount(); }),
              HasSubstr("game_ranking.discount is 0"));
  EXPECT_THAT(
      message([](GameRanking* g) { g->set_discount(GameRanking::PRECISION); }),
      HasSubstr("game_ranking.cutoff is 0, must be in [1, 1000000]"));
  EXPECT_THAT(message([](GameRanking* g) { g->set_cutoff(1000001); }),
              HasSubstr("game_ranking.cutoff is 1000001"));
  EXPECT_THAT(
      message([](GameRanking* g) { g->set_plackett_luce_scale(-1); }),
      HasSubstr("game_ranking.plackett_luce_scale is -1, must be in (0, "));
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(
        message([&](GameRanking* g) { g->set_plackett_luce_mixture(share); }),
        HasSubstr("game_ranking.plackett_luce_mixture is"));
    EXPECT_THAT(message([&](GameRanking* g) { g->set_block_mixing(share); }),
                HasSubstr("game_ranking.block_mixing is"));
  }
}

}  // namespace
}  // namespace sortition
