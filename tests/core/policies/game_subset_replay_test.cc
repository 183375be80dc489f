// Subsets drawn by a game as they are served: replayed bit for bit, wherever
// the solver was stopped, and through a model's policy.
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/game_subset_case.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameSubset;
using ::testing::HasSubstr;

GameSubsetCase LargeGame(size_t m, const GameSubset& game, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  GameSubsetCase c;
  c.game = game;
  c.uniform_mixture = 0.1;
  for (size_t i = 0; i < m; ++i) {
    c.scores.push_back(2.5 * random.Normal() / static_cast<double>(m));
  }
  return c;
}

TEST(GameSubsetLargeTest, ReplayGivesTheSameBits) {
  GameSubset rough = FBeta(1);
  rough.set_tolerance(1e-2);
  for (const GameSubset& game : {Precision(10), Precision(700), rough}) {
    for (uint64_t seed = 0; seed < 2; ++seed) {
      const GameSubsetCase c = LargeGame(1000, game, seed);
      DistributionScratch scratch;
      ScoredCandidates candidates = c.Candidates();
      candidates.scratch = &scratch;
      const auto distribution = c.Distribution();
      for (uint64_t draws = 0; draws < 3; ++draws) {
        Draw draw;
        distribution->Sample(candidates, CounterRandom(SeedKey(draws)), &draw);
        ASSERT_TRUE(std::isfinite(draw.log_propensity));
        EXPECT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
                  draw.log_propensity);
      }
    }
  }
}

// A game stopped anywhere is played like one of as many rounds.
TEST(GameSubsetLargeTest, StoppedGamesAreReplayedByTheirRounds) {
  const GameSubsetCase c = LargeGame(200, FBeta(1), 3);
  const auto distribution = c.Distribution();
  DistributionScratch scratch;
  std::set<uint32_t> rounds;
  for (int last = 1;; last += 1 + last / 8) {
    int asked = 0;
    const std::function<bool()> stop = [&] { return ++asked >= last; };
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    candidates.game.stop = &stop;
    Draw draw;
    distribution->Sample(candidates, CounterRandom(SeedKey(last)), &draw);
    ASSERT_TRUE(draw.game.has_value());
    if (asked < last) break;  // Solved before being stopped.
    ASSERT_TRUE(draw.game_rounds.has_value());
    EXPECT_EQ(draw.game->rounds, *draw.game_rounds);
    EXPECT_GT(draw.game->gap, 1e-9);
    rounds.insert(*draw.game_rounds);
    ScoredCandidates replayed = c.Candidates();
    replayed.game.rounds = draw.game_rounds;
    Draw again;
    distribution->Sample(replayed, CounterRandom(SeedKey(last)), &again);
    EXPECT_EQ(again.action, draw.action);
    EXPECT_EQ(again.log_propensity, draw.log_propensity);
    EXPECT_EQ(again.game_rounds, draw.game_rounds);
    EXPECT_EQ(distribution->LogPropensity(replayed, draw.action),
              draw.log_propensity);
  }
  EXPECT_GT(rounds.size(), 5u);
  EXPECT_TRUE(rounds.contains(0));
}

// A game that needs fewer rounds than are claimed for it was not stopped.
TEST(GameSubsetLargeTest, RoundsThatWereNotNeededAreNotClaimed) {
  GameSubsetCase c;
  c.scores = {0.2, 0.1, -0.1};  // Solved in closed form.
  c.game = FBeta(1);
  ScoredCandidates candidates = c.Candidates();
  candidates.game.rounds = 3;
  Draw draw;
  c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
  EXPECT_FALSE(draw.game_rounds.has_value());
}

// Pinned: a change of one bit makes logged decisions impossible to verify.
TEST(GameSubsetLargeTest, KeepsTheBitsOfLoggedDecisions) {
  const std::vector<double> scores = {0.31, 0.3,  0.25, 1.4,
                                      0.33, -0.5, 0.3,  0.9};
  struct Golden {
    GameSubset game;
    uint64_t seed;
    Action action;
    double log_propensity;
  };
  GameSubset defaults = FBeta(1, 0.2);
  defaults.clear_tolerance();
  for (const Golden& golden : std::vector<Golden>{
           {Precision(3), 1, {3, 4, 7}, -0x1.5f0b394f2a1eap+0},
           {Precision(3), 4, {0, 3, 7}, -0x1.9102a90bb2088p+0},
           {defaults, 1, {0, 1, 3, 4, 6, 7}, -0x1.191b384b6e8fap+1},
           {defaults, 4, {0, 1, 2, 3, 4, 6, 7}, -0x1.b86d38080712cp-2}}) {
    GameSubsetCase c;
    c.scores = scores;
    c.game = golden.game;
    c.inverse_temperature = 0.75;
    c.uniform_mixture = 0.1;
    Draw draw;
    c.Distribution()->Sample(c.Candidates(),
                             CounterRandom(SeedKey(golden.seed)), &draw);
    EXPECT_EQ(draw.action, golden.action);
    EXPECT_EQ(draw.log_propensity, golden.log_propensity)
        << absl::StrFormat("%a", draw.log_propensity);
  }
}

TEST(GameSubsetLargeTest, IllFormedSubsetsAreImpossible) {
  for (const GameSubset& game : {Precision(2), FBeta(1)}) {
    GameSubsetCase c;
    c.scores = {0.1, 0.2, 0.3};
    c.game = game;
    c.uniform_mixture = 0.5;
    for (const Action& action :
         std::vector<Action>{{1, 0}, {0, 0}, {1, 3}, {-1, 0}, {0, 1, 2, 3}}) {
      EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
                -HUGE_VAL);
    }
  }
  GameSubsetCase c;
  c.scores = {0.1, 0.2, 0.3};
  c.game = Precision(2);
  c.uniform_mixture = 0.5;
  for (const Action& action : std::vector<Action>{{}, {1}, {0, 1, 2}}) {
    EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
              -HUGE_VAL);
  }
}

// The scores are the features. A mask leaves the game of the other candidates.
TEST(GameSubsetPolicyTest, MasksAndOrderOfCandidatesDoNotMatter) {
  const std::vector<float> features = {0.3f, 0.9f, 0.1f, 0.35f, 0.7f};
  const std::vector<float> reversed(features.rbegin(), features.rend());
  const bool eligible[] = {true, false, true, true, true};
  const bool eligible_reversed[] = {true, true, true, false, true};
  for (const GameSubset& game : {Precision(3), FBeta(1, 0.4)}) {
    model::v1::Policy message;
    message.set_inverse_temperature(1);
    message.set_uniform_mixture(0.1);
    *message.mutable_game_subset() = game;
    ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                         LinearPolicy::Create(message, {1}));
    EXPECT_EQ(policy.takes_size(), game.measure() == GameSubset::PRECISION);
    EXPECT_EQ(policy.threshold(), game.threshold());
    PolicyWorkspace workspace;
    Draw draw;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const PolicyQuery query = {Candidates::DenseUnchecked(features, 1),
                                 eligible};
      policy.Decide(query, SeedKey(seed), &workspace, &draw);
      EXPECT_EQ(policy.LogPropensity(query, draw.action, &workspace),
                draw.log_propensity);
      EXPECT_TRUE(std::is_sorted(draw.action.begin(), draw.action.end()));
      EXPECT_EQ(std::count(draw.action.begin(), draw.action.end(), 1), 0);
      const PolicyQuery turned = {Candidates::DenseUnchecked(reversed, 1),
                                  eligible_reversed};
      Action action = draw.action;
      for (int32_t& document : action) document = 4 - document;
      std::reverse(action.begin(), action.end());
      EXPECT_NEAR(policy.LogPropensity(turned, action, &workspace),
                  draw.log_propensity, 1e-12);
    }
  }
}

TEST(GameSubsetPolicyTest, NamesWhatIsWrong) {
  const auto message = [](GameSubset game, auto change) {
    model::v1::Policy policy;
    policy.set_inverse_temperature(1);
    change(&game);
    *policy.mutable_game_subset() = game;
    return std::string(MakeActionDistribution(policy).status().message());
  };
  using G = GameSubset*;
  EXPECT_EQ(message(Precision(2), [](G) {}), "");
  EXPECT_EQ(message(FBeta(0), [](G) {}), "");
  EXPECT_THAT(message(FBeta(1), [](G g) { g->clear_measure(); }),
              HasSubstr("game_subset.measure is 0, must be PRECISION (1) or"));
  EXPECT_THAT(message(Precision(0), [](G) {}),
              HasSubstr("game_subset.k is 0, must be in [1, 1000000]"));
  EXPECT_THAT(message(Precision(1000001), [](G) {}),
              HasSubstr("game_subset.k is 1000001"));
  EXPECT_THAT(message(FBeta(1e4), [](G) {}),
              HasSubstr("game_subset.beta is 10000, must be in [0.001, 1000]"));
  EXPECT_THAT(message(FBeta(1), [](G g) { g->set_tolerance(2); }),
              HasSubstr("game_subset.tolerance is 2, must be in [1e-09, 1]"));
  EXPECT_THAT(message(FBeta(1), [](G g) { g->set_max_rounds(2000000); }),
              HasSubstr("game_subset.max_rounds is 2000000"));
  for (const GameSubset& game : {Precision(2), FBeta(1)}) {
    for (const double bad : {-0.1, 1.1, std::nan("")}) {
      EXPECT_THAT(message(game, [&](G g) { g->set_block_mixing(bad); }),
                  HasSubstr("game_subset.block_mixing is"));
    }
    for (const double bad : {2e6, -HUGE_VAL, std::nan("")}) {
      EXPECT_THAT(message(game, [&](G g) { g->set_threshold(bad); }),
                  HasSubstr("game_subset.threshold is"));
    }
  }
}

}  // namespace
}  // namespace sortition
