// Subsets drawn by a game, against the game solved as the paper states it, and
// as they are served: replayed bit for bit, wherever the solver was stopped,
// and through a model's policy.
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/distribution_case.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameSubset;

// Row a of `score` is the score of subset a against all sets of labels. The
// policy is that of `c`, with its mixture.
double Guarantee(const DistributionCase& c, const Eigen::MatrixXd& payoffs,
                 const std::vector<Action>& subsets) {
  const auto distribution = c.Distribution();
  Eigen::VectorXd p(static_cast<Eigen::Index>(subsets.size()));
  for (size_t a = 0; a < subsets.size(); ++a) {
    p(static_cast<Eigen::Index>(a)) =
        std::exp(distribution->LogPropensity(c.Candidates(), subsets[a]));
  }
  return (payoffs.transpose() * p).minCoeff();
}

// The payoff score(subset, labels) - Σ ψ over the labels.
template <typename Score>
Eigen::MatrixXd Payoffs(const DistributionCase& c,
                        const std::vector<Action>& subsets, Score score) {
  const size_t m = c.scores.size();
  Eigen::MatrixXd payoffs(subsets.size(), 1u << m);
  for (size_t a = 0; a < subsets.size(); ++a) {
    uint32_t bits = 0;
    for (const int32_t i : subsets[a]) bits |= 1u << i;
    for (uint32_t y = 0; y < 1u << m; ++y) {
      double psi = 0;
      for (size_t i = 0; i < m; ++i) {
        if ((y >> i & 1) != 0) {
          psi += c.inverse_temperature * (c.scores[i] - c.Threshold());
        }
      }
      payoffs(static_cast<Eigen::Index>(a), y) =
          score(std::popcount(bits & y), subsets[a].size(), std::popcount(y)) -
          psi;
    }
  }
  return payoffs;
}

// The game of all policies that are uniform with probability ε: rows are (1-ε)
// times a subset's payoffs plus ε times the mean row. Its value, by linear
// programming, is what the policy guarantees and reports.
TEST(GameSubsetGameTest, PrecisionIsOptimalAmongPoliciesThatExploreSo) {
  RandomSequence random(SeedKey(7));
  for (int round = 0; round < 300; ++round) {
    DistributionCase c = GameSubsetCase({}, {});
    const size_t m = 2 + random.Below(4);
    const double scale = std::ldexp(1, -static_cast<int>(random.Below(4)));
    for (size_t i = 0; i < m; ++i) {
      c.scores.push_back(random.Below(4) == 0 ? scale / 2
                                              : scale * random.Normal());
    }
    c.game_subset = Precision(static_cast<uint32_t>(1 + random.Below(m)),
                              0.2 * random.Normal());
    c.inverse_temperature = 0.5 + random.Uniform();
    c.uniform_mixture = std::array{0.0, 0.1, 0.5, 0.9}[random.Below(4)];
    const std::vector<Action> subsets = AllActions(c);
    const double k = c.game_subset->k();
    const Eigen::MatrixXd payoffs = Payoffs(
        c, subsets, [k](int common, size_t, int) { return common / k; });
    const Eigen::MatrixXd explored =
        ((1 - c.uniform_mixture) * payoffs).rowwise() +
        c.uniform_mixture * payoffs.colwise().mean();
    ASSERT_OK_AND_ASSIGN(const MatrixGameSolution solution,
                         SolveMatrixGame(explored));
    EXPECT_NEAR(Guarantee(c, payoffs, subsets), solution.value, 1e-8);
    ScoredCandidates candidates = c.Candidates();
    candidates.game.return_bounds = true;
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
    DistributionCase c = GameSubsetCase({}, {});
    const size_t m = 1 + random.Below(5);
    for (size_t i = 0; i < m; ++i) c.scores.push_back(0.4 * random.Normal());
    const double beta = std::array{0.5, 1.0, 2.0}[random.Below(3)];
    c.game_subset = FBeta(beta, 0.1 * random.Normal());
    c.inverse_temperature = 0.5 + random.Uniform();
    c.uniform_mixture = std::array{0.0, 0.1, 1.0}[random.Below(3)];
    const std::vector<Action> subsets = AllActions(c);
    const auto f = [beta](int common, size_t size, int positives) {
      if (size == 0 && positives == 0) return 1.0;
      return (1 + beta * beta) * common /
             (static_cast<double>(size) + beta * beta * positives);
    };
    const Eigen::MatrixXd payoffs = Payoffs(c, subsets, f);
    ASSERT_OK_AND_ASSIGN(const MatrixGameSolution solution,
                         SolveMatrixGame(payoffs));
    const Draw draw = SampleOf(c, SeedKey(1));
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

DistributionCase LargeGame(size_t m, const GameSubset& game, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  DistributionCase c = GameSubsetCase({}, game, 0.1);
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
      const DistributionCase c = LargeGame(1000, game, seed);
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
  const DistributionCase c = LargeGame(200, FBeta(1), 3);
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
  // Solved in closed form.
  const DistributionCase c = GameSubsetCase({0.2, 0.1, -0.1}, FBeta(1));
  ScoredCandidates candidates = c.Candidates();
  candidates.game.rounds = 3;
  Draw draw;
  c.Distribution()->Sample(candidates, CounterRandom(SeedKey(1)), &draw);
  EXPECT_FALSE(draw.game_rounds.has_value());
}

// The scores are the features. A mask leaves the game of the other candidates.
TEST(GameSubsetPolicyTest, MasksAndOrderOfCandidatesDoNotMatter) {
  const std::vector<float> features = {0.3f, 0.9f, 0.1f, 0.35f, 0.7f};
  const std::vector<float> reversed(features.rbegin(), features.rend());
  const bool eligible[] = {true, false, true, true, true};
  const bool eligible_reversed[] = {true, true, true, false, true};
  for (const GameSubset& game : {Precision(3), FBeta(1, 0.4)}) {
    ASSERT_OK_AND_ASSIGN(
        const LinearPolicy policy,
        LinearPolicy::Create(GameSubsetCase({}, game, 0.1).Policy(), {1}));
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

}  // namespace
}  // namespace sortition
