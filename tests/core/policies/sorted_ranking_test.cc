// The order by score, explored, beyond the cases of enumeration.h: numbers
// derived by hand, what is impossible, scores of any size, and pinned bits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

DistributionCase Sorted(double swap, std::vector<double> scores, uint32_t top_k,
                        double shuffle = 0, uint32_t shuffle_ranks = 0) {
  DistributionCase c;
  c.kind = ActionKind::kRank;
  c.scores = std::move(scores);
  c.top_k = top_k;
  c.sorted.emplace().set_swap_probability(swap);
  c.sorted->set_shuffle_probability(shuffle);
  c.sorted->set_shuffle_ranks(shuffle_ranks);
  return c;
}

double Probability(const DistributionCase& c, const Action& action) {
  return std::exp(LogPropensity(c, action));
}

// Scores log 3, 0, 0 and w = 0.4. The first two swap with probability 2 w
// σ(-log 3) = 2 · 0.4 / 4 = 0.2, the last two, a tie, with 0.4. Half of the
// time each pair may.
TEST(SortedRankingTest, ThreeCandidatesByHand) {
  DistributionCase c = Sorted(0.4, {std::log(3.0), 0, 0}, 3);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.8 / 2 + 0.6 / 2, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0, 2}), 0.2 / 2, 1e-15);
  EXPECT_NEAR(Probability(c, {0, 2, 1}), 0.4 / 2, 1e-15);
  for (const Action& action :
       std::vector<Action>{{1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
  }
  // Rank by rank: 0 is first with 0.9, then 1 follows with 0.7 / 0.9.
  std::vector<double> conditionals;
  c.Distribution()->ConditionalLogPropensities(c.Candidates(), Action{0, 1, 2},
                                               &conditionals);
  EXPECT_NEAR(std::exp(conditionals[0]), 0.9, 1e-15);
  EXPECT_NEAR(std::exp(conditionals[1]), 7. / 9, 1e-15);
  EXPECT_NEAR(conditionals[2], 0, 1e-15);
  c.Distribution()->ConditionalLogPropensities(c.Candidates(), Action{1, 2, 0},
                                               &conditionals);
  EXPECT_NEAR(std::exp(conditionals[0]), 0.1, 1e-15);
  EXPECT_EQ(conditionals[1], -HUGE_VAL);
  EXPECT_EQ(conditionals[2], -HUGE_VAL);
  // The first ranks can end within a pair.
  c.top_k = 2;
  EXPECT_NEAR(Probability(c, {0, 2}), 0.2, 1e-15);
  c.top_k = 1;
  EXPECT_NEAR(Probability(c, {0}), 0.9, 1e-15);
  EXPECT_NEAR(Probability(c, {1}), 0.1, 1e-15);
  EXPECT_EQ(LogPropensity(c, {2}), -HUGE_VAL);
  std::vector<double> first(3);
  c.Distribution()->FirstProbabilities(c.Candidates(), first);
  EXPECT_NEAR(first[0], 0.9, 1e-15);
  EXPECT_NEAR(first[1], 0.1, 1e-15);
  EXPECT_EQ(first[2], 0);
}

// The same candidates. Half of the time the first two are shuffled: 1/4 for
// each of their orders; and 3/10 of all orders are uniform: 1/20 for each.
TEST(SortedRankingTest, MixturesByHand) {
  DistributionCase c = Sorted(0.4, {std::log(3.0), 0, 0}, 3, 0.5, 2);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.35 + 0.25, 1e-15);
  EXPECT_NEAR(Probability(c, {1, 0, 2}), 0.05 + 0.25, 1e-15);
  EXPECT_NEAR(Probability(c, {0, 2, 1}), 0.1, 1e-15);
  EXPECT_EQ(LogPropensity(c, {2, 1, 0}), -HUGE_VAL);
  c.uniform_mixture = 0.3;
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 0.7 * 0.6 + 0.05, 1e-15);
  EXPECT_NEAR(Probability(c, {2, 1, 0}), 0.05, 1e-15);
  c.uniform_mixture = 0;
  c.sorted->set_shuffle_ranks(3);
  EXPECT_NEAR(Probability(c, {2, 1, 0}), 0.5 / 6, 1e-15);
  c.sorted->set_shuffle_probability(1);
  EXPECT_NEAR(Probability(c, {0, 1, 2}), 1. / 6, 1e-15);
}

TEST(SortedRankingTest, HasNoGradient) {
  EXPECT_FALSE(Sorted(0.4, {1, 0}, 2).Distribution()->has_gradient());
}

// A swap is 2 w σ(-x) rounded to a multiple of 2^-52. Beyond x = 37 or so that
// is 0: then it never happens, and is logged as impossible.
TEST(SortedRankingTest, SwapsAreOnTheGridOfTheNumbers) {
  for (const double x : {0.1, 1.0, 10.0, 30.0, 34.0}) {
    const double p = 2 * Probability(Sorted(0.3, {x, 0}, 2), {1, 0});
    EXPECT_NEAR(p, 0.6 / (1 + std::exp(x)), 0x1p-51);
    const double steps = p * 0x1p52;
    EXPECT_NEAR(steps, std::round(steps), 1e-9 * steps);
    EXPECT_GT(p, 0);
  }
  EXPECT_EQ(LogPropensity(Sorted(0.3, {40, 0}, 2), {1, 0}), -HUGE_VAL);
  EXPECT_EQ(LogPropensity(Sorted(0.3, {40, 0}, 2), {0, 1}), 0);
  // A shuffle that was asked for stays possible.
  EXPECT_NEAR(LogPropensity(Sorted(0, {9, 0}, 2, 1e-300, 2), {1, 0}),
              -52 * std::log(2.0), 1e-13);
}

// The way of exploring is clear only at the end; until then the filter must
// neither lose nor forget a way. All pairs from rank 1 on swap: 2^-1 · w^k.
TEST(SortedRankingTest, LongOrdersKeepTheirDigits) {
  for (const size_t n : {size_t{11}, size_t{1001}}) {
    DistributionCase c =
        Sorted(0.25, std::vector<double>(n), static_cast<uint32_t>(n));
    Action order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto pairs = static_cast<double>(n / 2);
    // No pair swaps, of either kind.
    EXPECT_NEAR(LogPropensity(c, order), pairs * std::log(0.75), 1e-12 * pairs);
    for (size_t r = 1; r + 1 < n; r += 2) std::swap(order[r], order[r + 1]);
    EXPECT_NEAR(LogPropensity(c, order), pairs * std::log(0.25) - std::log(2.0),
                1e-12 * pairs);
    // A pair of the other kind makes it impossible.
    std::swap(order[0], order[1]);
    EXPECT_EQ(LogPropensity(c, order), -HUGE_VAL);
  }
}

// For any scores, either the draw is possible and replays bit for bit, whatever
// the buffers held before, or everything is refused.
TEST(SortedRankingTest, DrawsReplayBitForBit) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  int refused = 0;
  for (uint64_t round = 0; round < 3000; ++round) {
    const size_t n = 1 + random.Below(round % 50 == 0 ? 1000 : 12);
    const double scale = std::pow(10.0, 20 * random.Uniform() - 10);
    std::vector<double> scores(n);
    for (double& score : scores) score = scale * random.Normal();
    if (random.Below(3) == 0) {  // Ties.
      for (double& score : scores) score = std::round(score / scale) * scale;
    }
    DistributionCase c = Sorted(random.Uniform() / 2, scores,
                                static_cast<uint32_t>(1 + random.Below(n)),
                                random.Below(2) == 0 ? 0 : random.Uniform(),
                                static_cast<uint32_t>(2 + random.Below(12)));
    c.uniform_mixture = random.Below(2) == 0 ? 0 : 0.1;
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    const auto distribution = c.Distribution();
    distribution->Sample(candidates, CounterRandom(SeedKey(round)), &draw);
    ASSERT_EQ(draw.action.size(), c.top_k);
    ASSERT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
    double largest = 0;
    for (const double score : scores) {
      largest = std::max(largest, std::abs(score));
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

TEST(SortedRankingTest, IllFormedActionsAreImpossible) {
  for (const double epsilon : {0.0, 0.5}) {
    DistributionCase c = Sorted(0.4, {1, 2, 3}, 2, 0.5, 3);
    c.uniform_mixture = epsilon;
    for (const Action& action :
         std::vector<Action>{{}, {0}, {0, 0}, {0, 3}, {-1, 0}, {0, 1, 2}}) {
      EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
    }
  }
}

// Full support is promised only where it does not depend on the scores: by the
// shuffle, if it is of all candidates.
TEST(SortedRankingTest, KnowsItsSupport) {
  for (const uint32_t n : {1u, 2u, 3u, 4u}) {
    for (const double shuffle : {0.0, 0.1}) {
      std::vector<double> scores(n);
      for (uint32_t i = 0; i < n; ++i) scores[i] = 1e3 * i;
      const DistributionCase c = Sorted(0.4, scores, n, shuffle, 3);
      bool all = true;
      for (const Action& action : AllActions(c)) {
        all = all && LogPropensity(c, action) > -HUGE_VAL;
      }
      EXPECT_EQ(HasFullSupport(c.Policy(), n), all) << n << " " << shuffle;
    }
  }
}

// Pinned: a change of one bit makes logged decisions impossible to verify. The
// values come from another implementation of these functions and of Philox.
TEST(SortedRankingTest, KeepsTheBitsOfLoggedDecisions) {
  DistributionCase c =
      Sorted(0.4, {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9}, 6, 0.25, 4);
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
                                                   {7, 3, 4, 0, 1, 6},
                                                   -0x1.a5237b07613d5p+1,
                                                   -0x1.5d08f99aea235p-12},
                                                  // The shuffle.
                                                  {6,
                                                   0.125,
                                                   {4, 3, 0, 7, 1, 6},
                                                   -0x1.2c9eead546a3cp+2,
                                                   -0x1.642c8927f8610p-10},
                                                  // The uniform part.
                                                  {16,
                                                   0.125,
                                                   {6, 3, 4, 2, 7, 1},
                                                   -0x1.7fb56e2dbfe4ap+3,
                                                   -0x1.193ea7aad030ap+0},
                                                  // Pairs from rank 1 on.
                                                  {4,
                                                   0,
                                                   {3, 7, 4, 0, 1, 6},
                                                   -0x1.7e77d3f32f340p+0,
                                                   -0x1.0ea613aab54f9p-2},
                                                  {7,
                                                   0,
                                                   {3, 7, 4, 1, 0, 2},
                                                   -0x1.8e09caaa6a09cp+1,
                                                   -0x1.ec07dbdb19afep-1}}) {
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
