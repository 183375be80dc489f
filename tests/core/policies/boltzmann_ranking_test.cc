// Boltzmann rankings beyond the cases of enumeration.h: many candidates, scores
// at the limits, and what is impossible.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;

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
    const Draw draw = SampleOf(c, SeedKey(1));
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
}

}  // namespace
}  // namespace sortition
