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
#include "core/policies/distributions/ranking_distribution.h"
#include "tests/core/policies/enumeration.h"
#include "tests/core/policies/game_ranking_case.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameRanking;

std::vector<Action> AllActions(const GameRankingCase& c) {
  std::vector<Action> actions;
  Action prefix;
  AppendOrders(static_cast<int32_t>(c.scores.size()), c.top_k, &prefix,
               &actions);
  return actions;
}

// Up to 6 candidates, discounts of all and of some ranks, whole orders, and
// prefixes shorter and longer than the discounts.
std::vector<GameRankingCase> AllGameRankings() {
  const std::map<std::string, std::vector<double>> all_scores = {
      {"Spread", {0.3, -0.6, 0.8, 0.0, 1.1, -0.4}},
      {"Near", {0.31, 0.3, 0.25, 0.4, 0.33}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.7, 0.7, 0.7, 0.7}},
      {"One", {-3.0}},
      {"Two", {0.5, 0.6}},
      {"Extreme", {1e200, -1e200, 1e200, 0.1, 0.0}},
  };
  std::vector<GameRankingCase> cases;
  for (const auto& [name, scores] : all_scores) {
    for (const auto& [game_name, game] : std::map<std::string, GameRanking>{
             {"Dcg", Game(GameRanking::DCG, 0)},
             {"DcgAt2", Game(GameRanking::DCG, 2)},
             {"PrecisionAt2", Game(GameRanking::PRECISION, 2)}}) {
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        for (const uint32_t k : {1u, 3u, 6u}) {
          GameRankingCase c;
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
    GameRankingCase c = cases[i];
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

class GameRankingTest : public testing::TestWithParam<GameRankingCase> {};

// Seeds are fixed. Of the 279 cases one would fail by chance for 1 set of seeds
// in 36.
TEST_P(GameRankingTest, DrawsEveryActionAsOftenAsItShould) {
  constexpr uint64_t kDraws = 10000;
  const GameRankingCase& c = GetParam();
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

// The mixture's expected discounts are the projection of α s on the hull of D'
// = (1-ε) D + ε mean(D): the game over all policies that explore as much.
TEST_P(GameRankingTest, MixtureIsOptimalAmongThoseThatExploreAsMuch) {
  GameRankingCase c = GetParam();
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
  const GameRankingCase& c = GetParam();
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
  const GameRankingCase& c = GetParam();
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
  const GameRankingCase& c = GetParam();
  const auto distribution = c.Distribution();
  const Action mode = distribution->Mode(c.Candidates());
  const double log_p = distribution->LogPropensity(c.Candidates(), mode);
  for (const Action& action : AllActions(c)) {
    EXPECT_LE(distribution->LogPropensity(c.Candidates(), action),
              log_p + 1e-13);
  }
}

// (1-ε) ((1-η) game + η Plackett-Luce) + ε uniform, computed from its three
// parts.
TEST_P(GameRankingTest, PartsAddUpToTheMixture) {
  const GameRankingCase& c = GetParam();
  const double eta = c.game.plackett_luce_mixture();
  if (eta == 0) return;
  GameRankingCase pure = c;
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

INSTANTIATE_TEST_SUITE_P(
    All, GameRankingTest, testing::ValuesIn(AllGameRankings()),
    [](const testing::TestParamInfo<GameRankingCase>& test) {
      return test.param.name;
    });

// Random scores, for which a prefix of the most probable order might not be the
// most probable prefix.
TEST(GameRankingModeTest, IsMostProbableForRandomScores) {
  RandomSequence random(SeedKey(2));
  for (int round = 0; round < 1000; ++round) {
    GameRankingCase c;
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

}  // namespace
}  // namespace sortition
