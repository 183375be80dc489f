#include "core/counterfactual/exploration/difference_variance.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/moments.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// A world of five actions: how probable each policy makes them, and how
// probable a reward of 1 is.
constexpr size_t kActions = 5;
using Probabilities = std::array<double, kActions>;
constexpr Probabilities kLog = {0.3, 0.25, 0.2, 0.15, 0.1};
constexpr Probabilities kTarget = {0.6, 0.2, 0.1, 0.06, 0.04};
constexpr Probabilities kPresent = {0.4, 0.25, 0.15, 0.12, 0.08};
constexpr Probabilities kExploration = {0.2, 0.2, 0.2, 0.2, 0.2};
constexpr Probabilities kReward = {0.8, 0.5, 0.3, 0.6, 0.1};
constexpr double kMeanReward = 0.55;

Hash128 SeedKey(uint64_t seed) {
  return StableHash(HashDomain::kSimulation, {std::to_string(seed)});
}

size_t DrawAction(const Probabilities& probabilities, RandomSequence* random) {
  double left = random->Uniform();
  for (size_t y = 0; y + 1 < kActions; ++y) {
    left -= probabilities[y];
    if (left < 0) return y;
  }
  return kActions - 1;
}

double LogOf(double p) { return p > 0 ? std::log(p) : -HUGE_VAL; }

ComparedAction Compared(size_t y, double reward,
                        const Probabilities& exploration) {
  return {.reward = reward,
          .log_propensity = std::log(kLog[y]),
          .log_target = LogOf(kTarget[y]),
          .log_present = LogOf(kPresent[y]),
          .log_exploration = LogOf(exploration[y])};
}

double TermOf(size_t y, double reward, const Probabilities& exploration) {
  return (kTarget[y] - kPresent[y]) / exploration[y] * (reward - kMeanReward);
}

// Calls visit(y, reward, probability of the reward given y).
template <typename Visit>
void ForEachOutcome(const Visit& visit) {
  for (size_t y = 0; y < kActions; ++y) {
    visit(y, 1.0, kReward[y]);
    visit(y, 0.0, 1 - kReward[y]);
  }
}

double ExactVariance(const Probabilities& exploration) {
  double mean = 0;
  double square = 0;
  ForEachOutcome([&](size_t y, double reward, double p) {
    if (exploration[y] == 0) return;
    const double f = TermOf(y, reward, exploration);
    mean += exploration[y] * p * f;
    square += exploration[y] * p * f * f;
  });
  return square - mean * mean;
}

double ExactDifference() {
  double difference = 0;
  for (size_t y = 0; y < kActions; ++y) {
    difference += (kTarget[y] - kPresent[y]) * kReward[y];
  }
  return difference;
}

DifferenceSpread SpreadFromLog(const Probabilities& exploration, uint64_t seed,
                               size_t decisions) {
  DifferenceVariance variance(kMeanReward);
  RandomSequence random(SeedKey(seed));
  for (size_t i = 0; i < decisions; ++i) {
    const size_t y = DrawAction(kLog, &random);
    const double reward = random.Uniform() < kReward[y] ? 1 : 0;
    variance.Add(Compared(y, reward, exploration));
  }
  return variance.Spread();
}

// A log in which each outcome is as frequent as it is probable: 2000 decisions.
TEST(DifferenceVarianceTest, IsThatOfTheEnumeratedWorld) {
  DifferenceVariance variance(kMeanReward);
  ForEachOutcome([&](size_t y, double reward, double p) {
    const int64_t times = std::llround(2000 * kLog[y] * p);
    ASSERT_NEAR(static_cast<double>(times), 2000 * kLog[y] * p, 1e-9);
    for (int64_t i = 0; i < times; ++i) {
      variance.Add(Compared(y, reward, kExploration));
    }
  });
  const DifferenceSpread spread = variance.Spread();
  EXPECT_NEAR(spread.variance, ExactVariance(kExploration), 1e-12);
  EXPECT_EQ(spread.unseen, 0);
  // Σ |t - c| = 0.2 + 0.05 + 0.05 + 0.06 + 0.04.
  EXPECT_NEAR(spread.distance, 0.4, 1e-12);
}

// What the log of one policy predicts is what a log of the other one shows.
// They may differ by five standard errors of the two.
TEST(DifferenceVarianceTest, FreshLogsUnderTheExplorationShowWhatWasPredicted) {
  constexpr size_t kDecisions = 200000;
  for (const Probabilities& exploration :
       {kExploration, Probabilities{0.9, 0.04, 0.03, 0.02, 0.01}}) {
    const double predicted = SpreadFromLog(exploration, 1, kDecisions).variance;
    Moments seen;
    Moments squares;
    Moments terms;
    RandomSequence random(SeedKey(2));
    for (size_t i = 0; i < kDecisions; ++i) {
      const size_t y = DrawAction(exploration, &random);
      const double f =
          TermOf(y, random.Uniform() < kReward[y] ? 1 : 0, exploration);
      seen.Add(f);
      squares.Add(f * f);
      terms.Add(exploration[y] / kLog[y] * f * f * f * f);
    }
    // Of the seen variance, and at most of the predicted one: for its terms
    // g = e/p f² in the log, E_p[g²] = E_e[e/p f⁴].
    const double error =
        std::sqrt((squares.variance() + terms.mean()) / kDecisions);
    EXPECT_NEAR(predicted, seen.variance(), 5 * error);
    EXPECT_LT(error, 0.05 * seen.variance());
  }
}

// With as many decisions as planned, four of five logs tell the difference.
TEST(DifferenceVarianceTest, AsManyLogsTellItAsWasPlanned) {
  const double difference = ExactDifference();
  const auto planned = DecisionsToTell(SpreadFromLog(kExploration, 3, 200000),
                                       difference, 0.95, 0.8);
  ASSERT_TRUE(planned.has_value());
  constexpr int kLogs = 500;
  int told = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    Moments f;
    RandomSequence random(SeedKey(1000 + log));
    for (uint64_t i = 0; i < *planned; ++i) {
      const size_t y = DrawAction(kExploration, &random);
      f.Add(TermOf(y, random.Uniform() < kReward[y] ? 1 : 0, kExploration));
    }
    const double error =
        std::sqrt(f.variance() / static_cast<double>(*planned));
    if (std::fabs(f.mean()) > 1.959964 * error) ++told;
  }
  // Four standard deviations of a binomial share of 500: 0.072.
  EXPECT_NEAR(static_cast<double>(told) / kLogs, 0.8, 0.072);
}

TEST(DifferenceVarianceTest, WhatAnExplorationNeverDoesHidesSoMuch) {
  const Probabilities narrow = {0, 0.5, 0.5, 0, 0};
  const DifferenceSpread spread = SpreadFromLog(narrow, 4, 200000);
  // t does 0.2 more of action 0; c does 0.06 and 0.04 more of actions 3 and 4.
  EXPECT_NEAR(spread.unseen, 0.2, 0.01);
  EXPECT_NEAR(spread.variance, ExactVariance(narrow),
              0.02 * ExactVariance(narrow));
  EXPECT_FALSE(DecisionsToTell(spread, 0.15, 0.95, 0.8).has_value());
  const DifferenceSpread nothing_hidden = {.variance = spread.variance};
  EXPECT_EQ(DecisionsToTell(spread, spread.unseen + 0.05, 0.95, 0.8),
            DecisionsToTell(nothing_hidden, 0.05, 0.95, 0.8));
}

TEST(DifferenceVarianceTest, IsTheTextbooksNumber) {
  // (1.96 + 0.8416)² 0.25 / 0.05² = 784.9
  EXPECT_EQ(DecisionsToTell({.variance = 0.25}, 0.05, 0.95, 0.8), 785u);
  EXPECT_EQ(DecisionsToTell(DifferenceVariance(0).Spread(), 0.05, 0.95, 0.8),
            std::numeric_limits<uint64_t>::max());
}

TEST(DifferenceVarianceTest, RewardsMayBeginAnywhere) {
  DifferenceVariance low(0.2);
  DifferenceVariance high(0.6);
  for (size_t y = 0; y < kActions; ++y) {
    ComparedAction action = Compared(y, 0.1 * static_cast<double>(y), kLog);
    low.Add(action);
    action.reward += 0.4;
    high.Add(action);
  }
  EXPECT_NEAR(low.Spread().variance, high.Spread().variance, 1e-12);
}

// Long orders have probabilities that no double can hold.
TEST(DifferenceVarianceTest, ProbabilitiesMayUnderflow) {
  DifferenceVariance plain(kMeanReward);
  DifferenceVariance tiny(kMeanReward);
  for (size_t y = 0; y < kActions; ++y) {
    ComparedAction action = Compared(y, kReward[y], kExploration);
    plain.Add(action);
    for (double* log : {&action.log_propensity, &action.log_target,
                        &action.log_present, &action.log_exploration}) {
      *log -= 5000;
    }
    tiny.Add(action);
  }
  EXPECT_NEAR(tiny.Spread().variance / plain.Spread().variance, 1, 1e-9);
  EXPECT_NEAR(tiny.Spread().distance, plain.Spread().distance, 1e-9);
}

TEST(DifferenceVarianceTest, FewTermsAreCounted) {
  DifferenceVariance variance(0);
  // Two equal terms, and three decisions in which both policies do the same.
  const ComparedAction differs = {.reward = 1,
                                  .log_propensity = std::log(0.5),
                                  .log_target = 0,
                                  .log_present = std::log(0.5),
                                  .log_exploration = std::log(0.5)};
  for (int i = 0; i < 2; ++i) variance.Add(differs);
  for (int i = 0; i < 3; ++i) variance.Add({.reward = 1});
  EXPECT_NEAR(variance.Spread().effective_terms, 2, 1e-12);
  // g = 0.5² / 0.25 = 1 twice, f = 1 twice, of five.
  EXPECT_NEAR(variance.Spread().variance, 0.4 - 0.4 * 0.4, 1e-12);
}

}  // namespace
}  // namespace sortition
