// Subsets drawn by a game: each distribution against the enumeration of its
// subsets and against the game solved as the paper states it.
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "core/games/f_beta_game.h"
#include "core/policies/game_subset_distribution.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/subset_case.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameSubset;
using ::testing::HasSubstr;

struct GameCase {
  std::string name;
  std::vector<double> scores;
  GameSubset game;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  uint32_t asked = 0;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.threshold = game.threshold();
    candidates.top_k = asked;
    return candidates;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    *policy.mutable_game_subset() = game;
    auto distribution = MakeActionDistribution(policy);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }

  // Of the subsets; 0: any.
  int Size() const {
    if (game.measure() == GameSubset::F_BETA) return 0;
    return static_cast<int>(
        std::min<size_t>(asked > 0 ? asked : game.k(), scores.size()));
  }
};

std::vector<Action> AllSubsets(const GameCase& c) {
  std::vector<Action> subsets;
  for (uint32_t bits = 0; bits < 1u << c.scores.size(); ++bits) {
    if (c.Size() == 0 || std::popcount(bits) == c.Size()) {
      subsets.push_back(SubsetOf(bits));
    }
  }
  return subsets;
}

GameSubset Precision(uint32_t k, double threshold = 0) {
  GameSubset game;
  game.set_measure(GameSubset::PRECISION);
  game.set_k(k);
  game.set_threshold(threshold);
  return game;
}

GameSubset FBeta(double beta, double threshold = 0) {
  GameSubset game;
  game.set_measure(GameSubset::F_BETA);
  game.set_beta(beta);
  game.set_threshold(threshold);
  game.set_tolerance(1e-9);
  return game;
}

std::vector<GameCase> AllGames() {
  const std::map<std::string, std::vector<double>> all_scores = {
      {"Spread", {0.3, -0.6, 0.8, 0.0, 1.1, -0.4}},
      {"Near", {0.31, 0.3, 0.25, 0.4, 0.33}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.2, 0.2, 0.2, 0.2}},
      {"One", {-0.3}},
      {"Two", {0.5, 0.6}},
      {"Extreme", {1e200, -1e200, 1e200, 0.1, 0.0}},
  };
  const std::map<std::string, GameSubset> games = {
      {"Precision1", Precision(1)},    {"Precision2", Precision(2, 0.3)},
      {"Precision5", Precision(5)},    {"F1", FBeta(1)},
      {"F2Threshold", FBeta(2, 0.25)}, {"FHalf", FBeta(0.5, -0.1)},
  };
  std::vector<GameCase> cases;
  for (const auto& [name, scores] : all_scores) {
    for (const auto& [game_name, game] : games) {
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        GameCase c;
        c.scores = scores;
        c.game = game;
        if (epsilon == 0) c.game.set_block_mixing(0.5);
        c.uniform_mixture = epsilon;
        c.name = absl::StrCat(name, game_name, "Mixed",
                              static_cast<int>(epsilon * 10));
        cases.push_back(c);
        if (game_name != "Precision2") continue;
        c.asked = 3;
        c.name += "Asked3";
        cases.push_back(c);
      }
    }
  }
  return cases;
}

class GameSubsetTest : public testing::TestWithParam<GameCase> {};

TEST_P(GameSubsetTest, ProbabilitiesAddUpAndHaveTheMarginals) {
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  const size_t m = c.scores.size();
  std::vector<double> marginals(m);
  EXPECT_EQ(distribution->FirstProbabilities(c.Candidates(), marginals), 0);
  std::vector<double> included(m);
  double sum = 0;
  for (const Action& subset : AllSubsets(c)) {
    const double log_p = distribution->LogPropensity(c.Candidates(), subset);
    EXPECT_LE(log_p, 0);
    sum += std::exp(log_p);
    for (const int32_t i : subset) included[i] += std::exp(log_p);
    if (c.uniform_mixture > 0) {
      EXPECT_GT(log_p, -HUGE_VAL);
    }
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  for (size_t i = 0; i < m; ++i) {
    EXPECT_NEAR(included[i], marginals[i], 1e-12) << i;
  }
}

// Fixed seeds. Of the 147 cases one would fail by chance for 1 set of seeds in
// 68.
TEST_P(GameSubsetTest, DrawsEverySubsetAsOftenAsItShould) {
  constexpr uint64_t kDraws = 5000;
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::map<Action, size_t> index;
  std::vector<double> log_propensities;
  std::vector<double> probabilities;
  for (const Action& subset : AllSubsets(c)) {
    index[subset] = probabilities.size();
    log_propensities.push_back(
        distribution->LogPropensity(c.Candidates(), subset));
    probabilities.push_back(std::exp(log_propensities.back()));
  }
  std::vector<uint64_t> counts(probabilities.size());
  DistributionScratch scratch;
  ScoredCandidates candidates = c.Candidates();
  candidates.scratch = &scratch;
  Draw draw;
  for (uint64_t i = 0; i < kDraws; ++i) {
    distribution->Sample(candidates, CounterRandom(SeedKey(i)), &draw);
    ASSERT_TRUE(index.contains(draw.action));
    ++counts[index[draw.action]];
    ASSERT_EQ(draw.log_propensity, log_propensities[index[draw.action]]);
    EXPECT_TRUE(draw.conditional_log_propensities.empty());
    EXPECT_FALSE(draw.game_rounds.has_value());
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

// Of an F-score game the best of the sets that hold the most probable
// candidates need not be the best of all.
TEST_P(GameSubsetTest, ModeIsTheMostProbable) {
  const GameCase& c = GetParam();
  const auto distribution = c.Distribution();
  double most = -HUGE_VAL;
  for (const Action& subset : AllSubsets(c)) {
    most = std::max(most, distribution->LogPropensity(c.Candidates(), subset));
  }
  const Action mode = distribution->Mode(c.Candidates());
  EXPECT_NEAR(distribution->LogPropensity(c.Candidates(), mode), most, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, GameSubsetTest, testing::ValuesIn(AllGames()),
                         [](const auto& test) { return test.param.name; });

// Row a of `score` is what subset a scores against all sets of labels; the
// policy is that of `c`, mixed as it is.
double Guarantee(const GameCase& c, const Eigen::MatrixXd& payoffs,
                 const std::vector<Action>& subsets) {
  const auto distribution = c.Distribution();
  Eigen::VectorXd p(static_cast<Eigen::Index>(subsets.size()));
  for (size_t a = 0; a < subsets.size(); ++a) {
    p(static_cast<Eigen::Index>(a)) =
        std::exp(distribution->LogPropensity(c.Candidates(), subsets[a]));
  }
  return (payoffs.transpose() * p).minCoeff();
}

// score(subset, labels) - Σ ψ over the labels.
template <typename Score>
Eigen::MatrixXd Payoffs(const GameCase& c, const std::vector<Action>& subsets,
                        Score score) {
  const size_t m = c.scores.size();
  Eigen::MatrixXd payoffs(subsets.size(), 1u << m);
  for (size_t a = 0; a < subsets.size(); ++a) {
    uint32_t bits = 0;
    for (const int32_t i : subsets[a]) bits |= 1u << i;
    for (uint32_t y = 0; y < 1u << m; ++y) {
      double psi = 0;
      for (size_t i = 0; i < m; ++i) {
        if ((y >> i & 1) != 0) {
          psi += c.inverse_temperature * (c.scores[i] - c.game.threshold());
        }
      }
      payoffs(static_cast<Eigen::Index>(a), y) =
          score(std::popcount(bits & y), subsets[a].size(), std::popcount(y)) -
          psi;
    }
  }
  return payoffs;
}

// The game of all policies that are uniform with probability ε: rows are
// (1-ε) times a subset's payoffs plus ε times the mean row. Its value, by
// linear programming, is what the policy guarantees and what it says.
TEST(GameSubsetGameTest, PrecisionIsOptimalAmongPoliciesThatExploreSo) {
  RandomSequence random(SeedKey(7));
  for (int round = 0; round < 300; ++round) {
    GameCase c;
    const size_t m = 2 + random.Below(4);
    const double scale = std::ldexp(1, -static_cast<int>(random.Below(4)));
    for (size_t i = 0; i < m; ++i) {
      c.scores.push_back(random.Below(4) == 0 ? scale / 2
                                              : scale * random.Normal());
    }
    c.game = Precision(static_cast<uint32_t>(1 + random.Below(m)),
                       0.2 * random.Normal());
    c.inverse_temperature = 0.5 + random.Uniform();
    c.uniform_mixture = std::array{0.0, 0.1, 0.5, 0.9}[random.Below(4)];
    const std::vector<Action> subsets = AllSubsets(c);
    const double k = c.game.k();
    const Eigen::MatrixXd payoffs = Payoffs(
        c, subsets, [k](int common, size_t, int) { return common / k; });
    const Eigen::MatrixXd explored =
        ((1 - c.uniform_mixture) * payoffs).rowwise() +
        c.uniform_mixture * payoffs.colwise().mean();
    ASSERT_OK_AND_ASSIGN(const MatrixGameSolution solution,
                         SolveMatrixGame(explored));
    EXPECT_NEAR(Guarantee(c, payoffs, subsets), solution.value, 1e-8);
    ScoredCandidates candidates = c.Candidates();
    candidates.return_game = true;
    Draw draw;
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
    ASSERT_TRUE(draw.game.has_value());
    EXPECT_NEAR(draw.game->lower, solution.value, 1e-8);
    EXPECT_NEAR(draw.game->upper, solution.value, 1e-8);
    EXPECT_EQ(draw.game->rounds, 0u);
  }
}

TEST(GameSubsetGameTest, FBetaGuaranteesWhatItSays) {
  RandomSequence random(SeedKey(8));
  for (int round = 0; round < 300; ++round) {
    GameCase c;
    const size_t m = 1 + random.Below(5);
    for (size_t i = 0; i < m; ++i) c.scores.push_back(0.4 * random.Normal());
    const double beta = std::array{0.5, 1.0, 2.0}[random.Below(3)];
    c.game = FBeta(beta, 0.1 * random.Normal());
    c.inverse_temperature = 0.5 + random.Uniform();
    c.uniform_mixture = std::array{0.0, 0.1, 1.0}[random.Below(3)];
    const std::vector<Action> subsets = AllSubsets(c);
    const auto f = [beta](int common, size_t size, int positives) {
      if (size == 0 && positives == 0) return 1.0;
      return (1 + beta * beta) * common /
             (static_cast<double>(size) + beta * beta * positives);
    };
    const Eigen::MatrixXd payoffs = Payoffs(c, subsets, f);
    ASSERT_OK_AND_ASSIGN(const MatrixGameSolution solution,
                         SolveMatrixGame(payoffs));
    Draw draw;
    c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(1)), &draw);
    if (c.uniform_mixture == 1) {
      EXPECT_FALSE(draw.game.has_value());
      continue;
    }
    ASSERT_TRUE(draw.game.has_value());
    const double guarantee = Guarantee(c, payoffs, subsets);
    EXPECT_GE(guarantee, draw.game->lower - 1e-9);
    EXPECT_GE(draw.game->upper, solution.value - 1e-8);
    EXPECT_LE(draw.game->gap, 1e-9);
    if (c.uniform_mixture > 0) continue;
    EXPECT_NEAR(guarantee, solution.value, 1e-8);
    EXPECT_NEAR(draw.game->lower, solution.value, 1e-8);
  }
}

GameCase LargeGame(size_t m, const GameSubset& game, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  GameCase c;
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
      const GameCase c = LargeGame(1000, game, seed);
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

// Stopped anywhere, a game is played as one of as many rounds is.
TEST(GameSubsetLargeTest, StoppedGamesAreReplayedByTheirRounds) {
  const GameCase c = LargeGame(200, FBeta(1), 3);
  const auto distribution = c.Distribution();
  DistributionScratch scratch;
  std::set<uint32_t> rounds;
  for (int last = 1;; last += 1 + last / 8) {
    int asked = 0;
    const std::function<bool()> stop = [&] { return ++asked >= last; };
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    candidates.stop = &stop;
    Draw draw;
    distribution->Sample(candidates, CounterRandom(SeedKey(last)), &draw);
    ASSERT_TRUE(draw.game.has_value());
    if (asked < last) break;  // Solved before.
    ASSERT_TRUE(draw.game_rounds.has_value());
    EXPECT_EQ(draw.game->rounds, *draw.game_rounds);
    EXPECT_GT(draw.game->gap, 1e-9);
    rounds.insert(*draw.game_rounds);
    ScoredCandidates replayed = c.Candidates();
    replayed.game_rounds = draw.game_rounds;
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

// A game that needs fewer rounds than it is said to have had was not stopped.
TEST(GameSubsetLargeTest, RoundsThatWereNotNeededAreNotClaimed) {
  GameCase c;
  c.scores = {0.2, 0.1, -0.1};  // Solved in closed form.
  c.game = FBeta(1);
  ScoredCandidates candidates = c.Candidates();
  candidates.game_rounds = 3;
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
    GameCase c;
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
    GameCase c;
    c.scores = {0.1, 0.2, 0.3};
    c.game = game;
    c.uniform_mixture = 0.5;
    for (const Action& action :
         std::vector<Action>{{1, 0}, {0, 0}, {1, 3}, {-1, 0}, {0, 1, 2, 3}}) {
      EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
                -HUGE_VAL);
    }
  }
  GameCase c;
  c.scores = {0.1, 0.2, 0.3};
  c.game = Precision(2);
  c.uniform_mixture = 0.5;
  for (const Action& action : std::vector<Action>{{}, {1}, {0, 1, 2}}) {
    EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
              -HUGE_VAL);
  }
}

// The scores are the features. A mask leaves the game of the others.
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
