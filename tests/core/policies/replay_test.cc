// Draws replay bit for bit, in other processes with other buffers and in later
// releases; what is no action is impossible.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;
using model::v1::GameRanking;

// For any scores, either the draw is possible and replays, whatever the buffers
// held before, or everything is refused, which happens where a logit is above
// 1e9. `change` makes a case of n normal scores one of another kind, and
// returns the largest factor of its logits.
void ExpectReplays(uint64_t num_rounds, size_t most_candidates,
                   const std::function<double(RandomSequence* random,
                                              DistributionCase* c)>& change) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  int refused = 0;
  for (uint64_t round = 0; round < num_rounds; ++round) {
    const size_t n = 1 + random.Below(round % 50 == 0  ? most_candidates
                                      : round % 2 == 0 ? 30
                                                       : 8);
    const double scale = std::pow(10.0, 20 * random.Uniform() - 10);
    std::vector<double> scores(n);
    for (double& score : scores) score = scale * random.Normal();
    if (random.Below(3) == 0) {  // Ties.
      for (double& score : scores) score = std::round(score / scale) * scale;
    }
    DistributionCase c =
        Ranking(scores, static_cast<uint32_t>(1 + random.Below(n)),
                random.Below(2) == 0 ? 0 : 0.1);
    const double factor = change(&random, &c);
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    c.Distribution()->Sample(candidates, CounterRandom(SeedKey(round)), &draw);
    ASSERT_EQ(draw.action.size(), c.top_k);
    ASSERT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
    double largest = 0;
    for (const double score : scores) {
      largest = std::max(largest, std::abs(factor * score));
    }
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

TEST(ReplayTest, BoltzmannRankings) {
  ExpectReplays(3000, 1000, [](RandomSequence* random, DistributionCase* c) {
    c->boltzmann.emplace().set_head(static_cast<uint32_t>(random->Below(9)));
    c->boltzmann->set_rank_weights(random->Below(2) == 0
                                       ? BoltzmannRanking::LINEAR
                                       : BoltzmannRanking::DCG);
    c->boltzmann->set_cutoff(static_cast<uint32_t>(random->Below(4)));
    c->boltzmann->set_plackett_luce_mixture(random->Below(2) == 0 ? 0 : 0.5);
    c->inverse_temperature = random->Below(10) == 0 ? 1e6 : 1;
    return c->inverse_temperature;
  });
}

TEST(ReplayTest, SortedRankings) {
  ExpectReplays(3000, 1000, [](RandomSequence* random, DistributionCase* c) {
    c->sorted.emplace().set_swap_probability(random->Uniform() / 2);
    c->sorted->set_shuffle_probability(
        random->Below(2) == 0 ? 0 : random->Uniform());
    c->sorted->set_shuffle_ranks(static_cast<uint32_t>(2 + random->Below(12)));
    return 1.0;
  });
}

TEST(ReplayTest, FactoredRankings) {
  ExpectReplays(2000, 500, [](RandomSequence* random, DistributionCase* c) {
    c->rank_factors.resize(1 + random->Below(6));
    for (double& factor : c->rank_factors) {
      factor = std::exp(2 * random->Normal());
    }
    return *std::max_element(c->rank_factors.begin(), c->rank_factors.end());
  });
}

// Those of logged decisions.
const std::vector<double> kLoggedScores = {0.31, 0.3,  0.25, 1.4,
                                           0.33, -0.5, 0.3,  0.9};

DistributionCase Mixed(DistributionCase c, double epsilon, double alpha) {
  c.uniform_mixture = epsilon;
  c.inverse_temperature = alpha;
  return c;
}

DistributionCase LoggedBoltzmann(double mixture) {
  DistributionCase c = BoltzmannCase("", kLoggedScores, 6, 4);
  c.boltzmann->set_tail_scale(2);
  c.boltzmann->set_plackett_luce_mixture(mixture);
  return Mixed(c, mixture / 2, 1.75);
}

DistributionCase LoggedGame() {
  DistributionCase c =
      GameRankingCase(kLoggedScores, Game(GameRanking::DCG, 0), 5, 0.1);
  c.game_ranking->set_plackett_luce_mixture(0.25);
  c.inverse_temperature = 0.75;
  return c;
}

DistributionCase LoggedSubset(bool is_precision) {
  DistributionCase c = GameSubsetCase(
      kLoggedScores, is_precision ? Precision(3) : FBeta(1, 0.2));
  if (!is_precision) c.game_subset->clear_tolerance();
  return Mixed(c, 0.1, 0.75);
}

// Pinned: a change of one bit makes logged decisions impossible to verify. The
// values of sorted and factored rankings come from another implementation of
// these functions and of Philox.
TEST(LoggedDrawTest, KeepsItsBits) {
  const DistributionCase sorted = Sorted(0.4, kLoggedScores, 6, 0.25, 4);
  const DistributionCase factored = Factored({2, 0.5, 1}, kLoggedScores, 6);
  const auto key = [](uint64_t low) { return Hash128{low, low + 10}; };
  const auto expect = [](const DistributionCase& c, const Hash128& seed,
                         const Action& action, double log_propensity,
                         double last_conditional = 0) {
    const Draw draw = SampleOf(c, seed);
    EXPECT_EQ(draw.action, action);
    EXPECT_EQ(draw.log_propensity, log_propensity)
        << absl::StrFormat("%a", draw.log_propensity);
    if (c.kind != ActionKind::kRank) return;
    EXPECT_EQ(draw.conditional_log_propensities.back(), last_conditional)
        << absl::StrFormat("%a", draw.conditional_log_propensities.back());
  };
  expect(LoggedBoltzmann(0.25), SeedKey(1), {0, 7, 6, 3, 4, 1},
         -0x1.48a4f6dc3e691p+3, -0x1.ad3fe7907141ap-1);
  expect(LoggedBoltzmann(0.25), SeedKey(2), {3, 4, 7, 0, 2, 6},
         -0x1.44d34a8d01ac4p+2, -0x1.73afb25a7ef06p-1);
  expect(LoggedBoltzmann(0), SeedKey(3), {3, 7, 0, 4, 2, 6},
         -0x1.23755b6650d1ep+2, -0x1.723a0cea522e6p-1);
  expect(LoggedBoltzmann(0), SeedKey(4), {4, 3, 0, 7, 6, 1},
         -0x1.4c14cdf872ca6p+2, -0x1.48b37effdec29p-1);
  expect(Mixed(sorted, 0.125, 1.75), key(1), {7, 3, 4, 0, 1, 6},
         -0x1.a5237b07613d5p+1, -0x1.5d08f99aea235p-12);
  // The shuffle.
  expect(Mixed(sorted, 0.125, 1.75), key(6), {4, 3, 0, 7, 1, 6},
         -0x1.2c9eead546a3cp+2, -0x1.642c8927f8610p-10);
  // The uniform part.
  expect(Mixed(sorted, 0.125, 1.75), key(16), {6, 3, 4, 2, 7, 1},
         -0x1.7fb56e2dbfe4ap+3, -0x1.193ea7aad030ap+0);
  // Pairs from rank 1 on.
  expect(Mixed(sorted, 0, 1.75), key(4), {3, 7, 4, 0, 1, 6},
         -0x1.7e77d3f32f340p+0, -0x1.0ea613aab54f9p-2);
  expect(Mixed(sorted, 0, 1.75), key(7), {3, 7, 4, 1, 0, 2},
         -0x1.8e09caaa6a09cp+1, -0x1.ec07dbdb19afep-1);
  expect(Mixed(factored, 0.125, 1.75), key(1), {3, 7, 2, 1, 6, 0},
         -0x1.c31ce1902a279p+2, -0x1.a6ac05ace694bp-1);
  expect(Mixed(factored, 0.125, 1.75), key(5), {6, 7, 3, 0, 1, 4},
         -0x1.334ca89ebe03dp+3, -0x1.905909c506f55p-1);
  // The uniform part.
  expect(Mixed(factored, 0.125, 1.75), key(16), {6, 3, 4, 2, 7, 1},
         -0x1.4d02f48b578aap+3, -0x1.c376296f686d4p-1);
  expect(Mixed(factored, 0, 1.75), key(2), {3, 0, 4, 7, 2, 5},
         -0x1.09d9677a2c3bep+3, -0x1.1ace29db5cac5p+1);
  expect(LoggedGame(), SeedKey(1), {0, 6, 7, 4, 1}, -0x1.464970f46a39p+3,
         -0x1.7fbe06bb28049p+0);
  expect(LoggedGame(), SeedKey(4), {3, 7, 4, 1, 0}, -0x1.3e951f7307b53p+1,
         -0x1.9a75ad3b8a6dbp-4);
  expect(LoggedGame(), SeedKey(8), {3, 7, 2, 0, 6}, -0x1.5c722c4274cbbp+2,
         -0x1.8c1e8b2a0d411p+0);
  expect(LoggedSubset(true), SeedKey(1), {3, 4, 7}, -0x1.5f0b394f2a1eap+0);
  expect(LoggedSubset(true), SeedKey(4), {0, 3, 7}, -0x1.9102a90bb2088p+0);
  expect(LoggedSubset(false), SeedKey(1), {0, 1, 3, 4, 6, 7},
         -0x1.191b384b6e8fap+1);
  expect(LoggedSubset(false), SeedKey(4), {0, 1, 2, 3, 4, 6, 7},
         -0x1.b86d38080712cp-2);
}

void ExpectImpossible(const DistributionCase& c, const Action& action) {
  SCOPED_TRACE(testing::PrintToString(action));
  EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
  const auto distribution = c.Distribution();
  if (!distribution->has_gradient()) return;
  std::vector<double> gradient(c.scores.size(), 7);
  double other = 7;
  EXPECT_EQ(distribution->LogPropensityGradient(c.Candidates(), action,
                                                gradient, &other),
            -HUGE_VAL);
  EXPECT_EQ(gradient, std::vector<double>(c.scores.size(), 0));
  EXPECT_EQ(other, 0);
}

TEST(IllFormedActionTest, IsImpossibleWhateverTheMixture) {
  const std::vector<double> scores = {1, 2, 3};
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    for (const Action& action :
         std::vector<Action>{{}, {3}, {-2}, {kAbstain}, {0, 1}}) {
      ExpectImpossible(Selection(scores, epsilon), action);
    }
    for (DistributionCase c :
         {Ranking(scores, 2), Factored({2, 1}, scores, 2),
          Sorted(0.4, scores, 2, 0.5, 3), BoltzmannCase("", scores, 2),
          BoltzmannCase("", scores, 2, /*head=*/2),
          GameRankingCase(scores, Game(GameRanking::DCG, 0), 2)}) {
      c.uniform_mixture = epsilon;
      for (const Action& action :
           std::vector<Action>{{}, {0}, {0, 0}, {0, 3}, {-1, 0}, {0, 1, 2}}) {
        ExpectImpossible(c, action);
      }
    }
    for (DistributionCase c : {SubsetCase(scores), SubsetCase(scores, 2),
                               GameSubsetCase(scores, FBeta(1)),
                               GameSubsetCase(scores, Precision(2))}) {
      c.uniform_mixture = epsilon;
      for (const Action& action : std::vector<Action>{
               {3}, {-1}, {1, 1}, {2, 1}, {0, 1, 2, 3}, {kAbstain, 0}}) {
        ExpectImpossible(c, action);
      }
      if (c.SubsetSize() == 0) continue;
      for (const Action& action : std::vector<Action>{{}, {1}, {0, 1, 2}}) {
        ExpectImpossible(c, action);
      }
    }
  }
}

}  // namespace
}  // namespace sortition
