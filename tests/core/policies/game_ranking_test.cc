// Rankings drawn by a game: each distribution against the enumeration of its
// actions and against the game solved as the papers state it.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/game_ranking_distribution.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameRanking;
using ::testing::HasSubstr;

struct GameCase {
  std::string name;
  std::vector<double> scores;
  GameRanking game;
  uint32_t top_k = 1;
  double inverse_temperature = 1;
  double uniform_mixture = 0;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.top_k = top_k;
    return candidates;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    auto distribution = GameRankingDistribution::Create(inverse_temperature,
                                                        uniform_mixture, game);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }

  // As the game has them.
  std::vector<double> Discounts(size_t n) const {
    std::vector<double> discounts(n, 0);
    for (size_t r = 0; r < n; ++r) {
      if (game.cutoff() > 0 && r >= game.cutoff()) break;
      discounts[r] = game.discount() == GameRanking::DCG
                         ? 1 / std::log2(static_cast<double>(r) + 2)
                         : 1. / game.cutoff();
    }
    return discounts;
  }
};

std::vector<Action> AllActions(const GameCase& c) {
  std::vector<Action> actions;
  Action prefix;
  AppendOrders(static_cast<int32_t>(c.scores.size()), c.top_k, &prefix,
               &actions);
  return actions;
}

GameRanking Game(GameRanking::Discount discount, uint32_t cutoff) {
  GameRanking game;
  game.set_discount(discount);
  game.set_cutoff(cutoff);
  return game;
}

// Up to 6 candidates; discounts of all and of some ranks, whole orders and
// prefixes shorter and longer than the discounts.
std::vector<GameCase> AllGames() {
  const std::map<std::string, std::vector<double>> all_scores = {
      {"Spread", {0.3, -0.6, 0.8, 0.0, 1.1, -0.4}},
      {"Near", {0.31, 0.3, 0.25, 0.4, 0.33}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.7, 0.7, 0.7, 0.7}},
      {"One", {-3.0}},
      {"Two", {0.5, 0.6}},
      {"Extreme", {1e200, -1e200, 1e200, 0.1, 0.0}},
  };
  std::vector<GameCase> cases;
  for (const auto& [name, scores] : all_scores) {
    for (const auto& [game_name, game] : std::map<std::string, GameRanking>{
             {"Dcg", Game(GameRanking::DCG, 0)},
             {"DcgAt2", Game(GameRanking::DCG, 2)},
             {"PrecisionAt2", Game(GameRanking::PRECISION, 2)}}) {
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        for (const uint32_t k : {1u, 3u, 6u}) {
          GameCase c;
          c.scores = scores;
          c.game = game;
          if (k == 3) c.game.set_block_mixing(0);
          c.top_k = std::min(k, static_cast<uint32_t>(scores.size()));
          c.uniform_mixture = epsilon;
          c.name = absl::StrCat(name, game_name, "Top", k, "Mixed",
                                static_cast<int>(epsilon * 10));
          cases.push_back(c);
        }
      }
    }
  }
  const size_t num_plain = cases.size();
  for (size_t i = 0; i < num_plain; ++i) {
    GameCase c = cases[i];
    if (c.top_k == 1 || c.uniform_mixture == 1 || c.scores[0] == 1e200)
      continue;
    c.game.set_plackett_luce_mixture(0.3);
    c.game.set_plackett_luce_scale(3);
    c.name += "PlackettLuce";
    cases.push_back(c);
    c.game.set_plackett_luce_mixture(1);
    c.name += "Only";
    if (c.uniform_mixture == 0) cases.push_back(c);
  }
  return cases;
}

class GameRankingTest : public testing::TestWithParam<GameCase> {};

// Fixed seeds. Of the 279 cases one would fail by chance for 1 set of seeds in
// 36.
TEST_P(GameRankingTest, DrawsEveryActionAsOftenAsItShould) {
  constexpr uint64_t kDraws = 10000;
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::map<Action, size_t> index;
  std::vector<double> log_propensities;
  std::vector<double> probabilities;
  for (const Action& action : AllActions(c)) {
    index[action] = probabilities.size();
    log_propensities.push_back(
        distribution->LogPropensity(c.Candidates(), action));
    EXPECT_LE(log_propensities.back(), 0);
    probabilities.push_back(std::exp(log_propensities.back()));
  }
  EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0),
              1, 1e-13);
  std::vector<uint64_t> counts(probabilities.size());
  DistributionScratch scratch;
  ScoredCandidates candidates = c.Candidates();
  candidates.scratch = &scratch;
  Draw draw;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
    const size_t action = index.at(draw.action);
    ++counts[action];
    ASSERT_EQ(draw.log_propensity, log_propensities[action]);
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

// The mixture's expected discounts are the projection of α s on the hull of
// D' = (1-ε) D + ε mean(D): the game over all policies that explore so much.
TEST_P(GameRankingTest, MixtureIsOptimalAmongThoseThatExploreAsMuch) {
  GameCase c = GetParam();
  if (c.uniform_mixture == 1 || c.game.plackett_luce_mixture() > 0) return;
  const size_t n = c.scores.size();
  c.top_k = static_cast<uint32_t>(n);
  const auto distribution = c.Distribution();
  const std::vector<double> by_rank = c.Discounts(n);
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

TEST_P(GameRankingTest, ConditionalsAreRatiosOfPrefixes) {
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> conditionals;
  for (const Action& action : AllActions(c)) {
    const double log_p = distribution->LogPropensity(c.Candidates(), action);
    distribution->ConditionalLogPropensities(c.Candidates(), action,
                                             &conditionals);
    ASSERT_EQ(conditionals.size(), action.size());
    double sum = 0;
    for (size_t r = 0; r < action.size(); ++r) {
      EXPECT_LE(conditionals[r], 0);
      sum += conditionals[r];
      ScoredCandidates prefix = c.Candidates();
      prefix.top_k = static_cast<uint32_t>(r + 1);
      const double shorter =
          distribution->LogPropensity(prefix, std::span(action).first(r + 1));
      if (std::isfinite(shorter)) {
        ASSERT_NEAR(sum, shorter, 1e-13 * (1 - shorter));
      } else {
        ASSERT_EQ(sum, shorter);
      }
    }
    EXPECT_TRUE(sum == log_p || std::abs(sum - log_p) < 1e-13 * (1 - log_p));
  }
}

TEST_P(GameRankingTest, FirstProbabilitiesAreMarginals) {
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> marginals(c.scores.size());
  for (const Action& action : AllActions(c)) {
    marginals[action[0]] +=
        std::exp(distribution->LogPropensity(c.Candidates(), action));
  }
  std::vector<double> probabilities(c.scores.size());
  EXPECT_EQ(distribution->FirstProbabilities(c.Candidates(), probabilities), 0);
  for (size_t i = 0; i < marginals.size(); ++i) {
    EXPECT_NEAR(probabilities[i], marginals[i], 1e-13) << i;
  }
}

TEST_P(GameRankingTest, ModeIsMostProbable) {
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  const Action mode = distribution->Mode(c.Candidates());
  const double log_p = distribution->LogPropensity(c.Candidates(), mode);
  for (const Action& action : AllActions(c)) {
    EXPECT_LE(distribution->LogPropensity(c.Candidates(), action),
              log_p + 1e-13);
  }
}

// (1-ε) ((1-η) game + η Plackett-Luce) + ε uniform, from its three parts.
TEST_P(GameRankingTest, PartsAddUpToTheMixture) {
  const GameCase& c = GetParam();
  const double eta = c.game.plackett_luce_mixture();
  if (eta == 0) return;
  GameCase pure = c;
  // The game of ψ / (1-ε).
  pure.inverse_temperature /= 1 - c.uniform_mixture;
  pure.uniform_mixture = 0;
  pure.game.set_plackett_luce_mixture(0);
  const RankingDistribution plackett_luce(
      c.inverse_temperature * c.game.plackett_luce_scale(), 0);
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

INSTANTIATE_TEST_SUITE_P(All, GameRankingTest, testing::ValuesIn(AllGames()),
                         [](const testing::TestParamInfo<GameCase>& test) {
                           return test.param.name;
                         });

// Random scores, of which prefixes the mode might not be.
TEST(GameRankingModeTest, IsMostProbableForRandomScores) {
  RandomSequence random(SeedKey(2));
  for (int round = 0; round < 1000; ++round) {
    GameCase c;
    c.scores.resize(2 + random.Below(4));
    for (double& score : c.scores) score = random.Uniform();
    c.top_k = static_cast<uint32_t>(1 + random.Below(c.scores.size()));
    c.game =
        Game(random.Below(3) == 0 ? GameRanking::PRECISION : GameRanking::DCG,
             static_cast<uint32_t>(1 + random.Below(5)));
    c.game.set_block_mixing(0);
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
          GameCase c;
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

// Whatever the scores: what is drawn is possible, and is what is replayed.
TEST(GameRankingLargeTest, DrawsFromScoresOfAnySize) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  for (int round = 0; round < 600; ++round) {
    GameCase c;
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

// The value of the game with the mixture in its discounts, as its solver has
// it; Plackett-Luce lowers what is guaranteed.
TEST(GameRankingLargeTest, SaysWhatItGuarantees) {
  for (const double epsilon : {0.0, 0.2}) {
    GameCase c;
    c.scores = {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9};
    c.game = Game(GameRanking::DCG, 5);
    c.uniform_mixture = epsilon;
    c.top_k = 3;
    ScoredCandidates candidates = c.Candidates();
    Draw draw;
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    EXPECT_FALSE(draw.game.has_value());
    candidates.return_game = true;
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
  GameCase c;
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
    GameCase c;
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
  GameCase c;
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

// The scores are the features. A mask leaves the game of the others; candidates
// in another order are ranked as they were.
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
