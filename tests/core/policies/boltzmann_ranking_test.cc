// Boltzmann rankings beyond the cases of enumeration.h: many candidates, scores
// of any size, refused inputs, and pinned bits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;
using ::testing::HasSubstr;

std::vector<double> NormalScores(size_t n, uint64_t seed, double scale = 1) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> scores(n);
  for (double& score : scores) score = scale * random.Normal();
  return scores;
}

// Log-probabilities of all next candidates, by the set of those placed before.
// The test below finds that the order of these does not matter.
class NextOf {
 public:
  NextOf(const DistributionCase& c, int n) : n_(n), log_p_((1 << n) * n) {
    const auto distribution = c.Distribution();
    DistributionScratch scratch;
    std::vector<double> conditionals;
    for (int placed = 0; placed < 1 << n; ++placed) {
      Action action;
      for (int i = 0; i < n; ++i) {
        if ((placed >> i & 1) != 0) action.push_back(i);
      }
      for (int i = 0; i < n; ++i) {
        if ((placed >> i & 1) != 0) continue;
        action.push_back(i);
        ScoredCandidates candidates = c.Candidates();
        candidates.top_k = static_cast<uint32_t>(action.size());
        candidates.scratch = &scratch;
        distribution->ConditionalLogPropensities(candidates, action,
                                                 &conditionals);
        log_p_[placed * n + i] = conditionals.back();
        action.pop_back();
      }
    }
  }

  // Σ exp(log_p + log-probability) over the orders of the rest, one by one.
  long double SumOfOrders(int placed = 0, double log_p = 0) const {
    if (placed == (1 << n_) - 1) return std::exp(log_p);
    long double sum = 0;
    for (int i = 0; i < n_; ++i) {
      if ((placed >> i & 1) != 0) continue;
      sum += SumOfOrders(placed | 1 << i, log_p + Log(placed, i));
    }
    return sum;
  }

  double Log(int placed, int i) const { return log_p_[placed * n_ + i]; }

 private:
  int n_;
  std::vector<double> log_p_;
};

TEST(BoltzmannRankingTest, ProbabilitiesOfTenCandidatesSumToOne) {
  const DistributionCase c = BoltzmannCase("Ten", NormalScores(10, 1, 2), 10);
  const NextOf next(c, 10);
  EXPECT_NEAR(static_cast<double>(next.SumOfOrders()), 1, 1e-12);
  // These sums agree with the log-propensities.
  Action order(10);
  std::iota(order.begin(), order.end(), 0);
  RandomSequence random(SeedKey(2));
  for (int repeat = 0; repeat < 1000; ++repeat) {
    std::shuffle(order.begin(), order.end(), random);
    double log_p = 0;
    int placed = 0;
    for (const int32_t i : order) {
      log_p += next.Log(placed, i);
      placed |= 1 << i;
    }
    ASSERT_NEAR(LogPropensity(c, order), log_p, 1e-12);
  }
}

// Covers the served head of twelve, with eight candidates behind it.
TEST(BoltzmannRankingTest, GradientOfALongListIsThatOfCentralDifferences) {
  for (const uint32_t top_k : {5u, 12u, 16u, 20u}) {
    for (const double eta : {0.0, 0.3}) {
      DistributionCase c = BoltzmannCase("Long", NormalScores(20, 3), top_k);
      c.boltzmann->set_plackett_luce_mixture(eta);
      c.boltzmann->set_tail_scale(0.7);
      c.uniform_mixture = eta / 10;
      c.inverse_temperature = 0.8;
      const auto distribution = c.Distribution();
      Draw draw;
      distribution->Sample(c.Candidates(), CounterRandom(SeedKey(4)), &draw);
      std::vector<double> gradient(20);
      double none = 1;
      EXPECT_EQ(distribution->LogPropensityGradient(c.Candidates(), draw.action,
                                                    gradient, &none),
                draw.log_propensity);
      EXPECT_EQ(none, 0);
      for (size_t i = 0; i < 20; ++i) {
        // Truncation of order step² = 1e-10, rounding 1e-15 / step = 1e-10.
        constexpr double kStep = 1e-5;
        DistributionCase moved = c;
        moved.scores[i] += kStep;
        const double above = LogPropensity(moved, draw.action);
        moved.scores[i] = c.scores[i] - kStep;
        EXPECT_NEAR(gradient[i],
                    (above - LogPropensity(moved, draw.action)) / (2 * kStep),
                    1e-8);
      }
    }
  }
}

// Serving and verification are different processes with other buffers. For any
// scores, either the draw is possible and replays bit for bit, or everything is
// refused.
TEST(BoltzmannRankingTest, DrawsReplayBitForBit) {
  RandomSequence random(SeedKey(8));
  DistributionScratch scratch;
  Draw draw;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t n = 1 + random.Below(round % 50 == 0  ? 1000
                                      : round % 2 == 0 ? 30
                                                       : 8);
    const double scale = std::pow(10.0, 20 * random.Uniform() - 10);
    DistributionCase c = BoltzmannCase("", NormalScores(n, round, scale), 1);
    if (random.Below(3) == 0) {  // Ties.
      for (double& score : c.scores) score = std::round(score / scale) * scale;
    }
    c.top_k = static_cast<uint32_t>(1 + random.Below(n));
    c.boltzmann->set_head(static_cast<uint32_t>(random.Below(9)));
    if (random.Below(2) == 0) {
      c.boltzmann->set_rank_weights(BoltzmannRanking::LINEAR);
    }
    c.boltzmann->set_cutoff(static_cast<uint32_t>(random.Below(4)));
    c.boltzmann->set_plackett_luce_mixture(random.Below(2) == 0 ? 0 : 0.5);
    c.uniform_mixture = random.Below(2) == 0 ? 0 : 0.1;
    c.inverse_temperature = random.Below(10) == 0 ? 1e6 : 1;
    ScoredCandidates candidates = c.Candidates();
    candidates.scratch = &scratch;
    const auto distribution = c.Distribution();
    distribution->Sample(candidates, CounterRandom(SeedKey(round)), &draw);
    ASSERT_EQ(draw.action.size(), c.top_k);
    ASSERT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
    double largest = 0;
    for (const double score : c.scores) {
      largest = std::max(largest, std::abs(c.inverse_temperature * score));
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
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1000);
}

TEST(BoltzmannRankingTest, FarScoresKeepTheirDigits) {
  // Two candidates T = (a_0 - a_1) · distance apart: log p = -T - log1p(e^-T).
  const double fall = 1 - 1 / std::log2(3.0);
  for (const double score : {1e4, 1e9}) {
    const DistributionCase c = BoltzmannCase("Far", {score, -score}, 2);
    EXPECT_EQ(LogPropensity(c, {0, 1}), 0);
    EXPECT_NEAR(LogPropensity(c, {1, 0}) / (-2 * fall * score), 1, 1e-15);
  }
  // Equal scores at the limit are as probable as any.
  EXPECT_NEAR(LogPropensity(BoltzmannCase("", std::vector<double>(5, 1e9), 5),
                            {4, 2, 0, 1, 3}),
              -std::log(120), 1e-14);
}

TEST(BoltzmannRankingTest, RefusesLogitsOfPartsThatCount) {
  const auto is_drawn = [](const DistributionCase& c) {
    Draw draw;
    c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(1)), &draw);
    EXPECT_EQ(draw.action.size(), c.top_k);
    EXPECT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
    std::vector<double> gradient(c.scores.size(), 7);
    double none = 7;
    c.Distribution()->LogPropensityGradient(c.Candidates(), draw.action,
                                            gradient, &none);
    if (draw.log_propensity == -HUGE_VAL) {
      EXPECT_EQ(gradient, std::vector<double>(c.scores.size(), 0));
    }
    return draw.log_propensity > -HUGE_VAL;
  };
  // Also with the uniform mixture, which alone could be drawn.
  DistributionCase c = BoltzmannCase("", {1.001e9, 0, 1}, 3);
  EXPECT_FALSE(is_drawn(c));
  c.uniform_mixture = 0.1;
  EXPECT_FALSE(is_drawn(c));
  c.uniform_mixture = 1;
  EXPECT_TRUE(is_drawn(c));
  // The tail's scale counts if there is a tail, Plackett-Luce's if it is mixed
  // in.
  c = BoltzmannCase("", {1e4, 0, 1}, 3, 3);
  c.boltzmann->set_tail_scale(1e6);
  c.boltzmann->set_plackett_luce_scale(1e6);
  EXPECT_TRUE(is_drawn(c));
  c.boltzmann->set_head(2);
  EXPECT_FALSE(is_drawn(c));
  c.boltzmann->set_head(3);
  c.boltzmann->set_plackett_luce_mixture(0.1);
  EXPECT_FALSE(is_drawn(c));
  // Differences of these weights overflow.
  c = BoltzmannCase("", {1, 0, 1}, 3);
  c.boltzmann->set_rank_weights(BoltzmannRanking::CUSTOM);
  for (const double a : {1e308, 0.0, -1e308}) c.boltzmann->add_weights(a);
  EXPECT_FALSE(is_drawn(c));
  c.scores = {1, 1, 1};
  EXPECT_FALSE(is_drawn(c));
}

TEST(BoltzmannRankingTest, OnlyTheHeadComesFirst) {
  const DistributionCase c =
      BoltzmannCase("", {0.5, 2, 2, 2, -1}, 3, 2);  // The head: 1 and 2.
  EXPECT_NEAR(LogPropensity(c, {1, 2, 3}) - LogPropensity(c, {2, 1, 3}), 0,
              1e-15);
  for (const Action& action :
       std::vector<Action>{{3, 1, 2}, {1, 3, 2}, {1, 0, 2}}) {
    EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
  }
  for (const Action& action : std::vector<Action>{
           {}, {1, 2}, {1, 1, 2}, {1, 2, 5}, {-1, 1, 2}, {1, 2, 3, 4}}) {
    EXPECT_EQ(LogPropensity(c, action), -HUGE_VAL);
  }
}

TEST(BoltzmannRankingTest, SaysWhatIsWrongWithItsFields) {
  const auto message = [](auto change) {
    DistributionCase c = BoltzmannCase("", {0}, 1);
    change(&*c.boltzmann);
    return std::string(MakeActionDistribution(c.Policy()).status().message());
  };
  EXPECT_EQ(message([](BoltzmannRanking*) {}), "");
  EXPECT_EQ(message([](BoltzmannRanking* b) { b->set_head(17); }),
            "policy.boltzmann_ranking.head is 17, must be in [1, 16], or 0 for "
            "12");
  EXPECT_EQ(message([](BoltzmannRanking* b) { b->set_tail_scale(-1); }),
            "policy.boltzmann_ranking.tail_scale is -1, must be in (0, "
            "1000000], or 0 for 1");
  EXPECT_THAT(
      message([](BoltzmannRanking* b) {
        b->set_rank_weights(BoltzmannRanking::CUSTOM);
        b->add_weights(1);
        b->add_weights(1.5);
      }),
      HasSubstr("boltzmann_ranking.weights[1] is 1.5, must be at most the "
                "weight before it, 1"));
}

// Pinned: a change of one bit makes logged decisions impossible to verify.
TEST(BoltzmannRankingTest, KeepsTheBitsOfLoggedDecisions) {
  DistributionCase c =
      BoltzmannCase("", {0.31, 0.3, 0.25, 1.4, 0.33, -0.5, 0.3, 0.9}, 6, 4);
  c.boltzmann->set_tail_scale(2);
  c.inverse_temperature = 1.75;
  struct Golden {
    uint64_t seed;
    double mixture;  // Both; 0: always head and tail.
    Action action;
    double log_propensity;
    double last_conditional;
  };
  for (const Golden& golden : std::vector<Golden>{{1,
                                                   0.25,
                                                   {0, 7, 6, 3, 4, 1},
                                                   -0x1.48a4f6dc3e691p+3,
                                                   -0x1.ad3fe7907141ap-1},
                                                  {2,
                                                   0.25,
                                                   {3, 4, 7, 0, 2, 6},
                                                   -0x1.44d34a8d01ac4p+2,
                                                   -0x1.73afb25a7ef06p-1},
                                                  {3,
                                                   0,
                                                   {3, 7, 0, 4, 2, 6},
                                                   -0x1.23755b6650d1ep+2,
                                                   -0x1.723a0cea522e6p-1},
                                                  {4,
                                                   0,
                                                   {4, 3, 0, 7, 6, 1},
                                                   -0x1.4c14cdf872ca6p+2,
                                                   -0x1.48b37effdec29p-1}}) {
    c.boltzmann->set_plackett_luce_mixture(golden.mixture);
    c.uniform_mixture = golden.mixture / 2;
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

}  // namespace
}  // namespace sortition
