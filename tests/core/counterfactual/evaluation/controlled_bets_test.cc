#include "core/counterfactual/evaluation/controlled_bets.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/evaluation/betting.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

// The largest weight of the toy is 6.
constexpr double kLimit = 5;

// The toy's value, from groups of `size` decisions. `click` makes rewards rare.
std::vector<ControlledRound> ValueRounds(size_t num_rounds, int size,
                                         uint64_t seed, double click = 1) {
  RandomSequence random(SeedKey(seed));
  std::vector<ControlledRound> rounds(num_rounds);
  for (ControlledRound& round : rounds) {
    for (int i = 0; i < size; ++i) {
      const size_t action = DrawAction(&random);
      const double reward = random.Uniform() < click * kReward[action] ? 1 : 0;
      const double difference = kNew[action] / kLogging[action] - 1;
      round.base += reward;
      round.product += difference * reward;
      round.difference += difference;
      round.count += 1;
    }
  }
  return rounds;
}

struct MeanBounds {
  double lower;
  double upper;
};

// Of the mean of z, whose base is a reward. All rounds have one size.
MeanBounds BoundsOf(const std::vector<ControlledRound>& rounds, double limit,
                    double failure_probability) {
  const ControlledSides sides = ControlledBets(rounds, limit, 1);
  const double size = rounds[0].count;
  return {
      BettingLowerBound({sides.above, limit, size}, failure_probability),
      1 - BettingLowerBound({sides.below, limit, size}, failure_probability)};
}

TEST(ControlledBetsTest, BoundsFailNoMoreOftenThanTheySay) {
  constexpr int kLogs = 500;
  for (const int size : {1, 5}) {
    int above = 0;
    int below = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      const MeanBounds bounds =
          BoundsOf(ValueRounds(1000, size, 100 + log), kLimit, kAlpha);
      above += bounds.lower > kNewValue ? 1 : 0;
      below += bounds.upper < kNewValue ? 1 : 0;
    }
    // Four standard errors above.
    const double most =
        kLogs * kAlpha + 4 * std::sqrt(kLogs * kAlpha * (1 - kAlpha));
    EXPECT_LE(above, most) << size;
    EXPECT_LE(below, most) << size;
  }
}

// E[(z - v)²] of the best control against E[(ρ r - v)²]: 0.6 against 3.1.
TEST(ControlledBetsTest, ControlHalvesTheDistance) {
  const std::vector<ControlledRound> rounds = ValueRounds(5000, 1, 1);
  const MeanBounds bounds = BoundsOf(rounds, kLimit, kAlpha);
  std::vector<BettingRound> plain;
  for (const ControlledRound& round : rounds) {
    plain.push_back({round.base + round.product, round.count});
  }
  const double plain_lower = BettingLowerBound({plain, 0}, kAlpha);
  EXPECT_LT(bounds.lower, kNewValue);
  EXPECT_LT(kNewValue - bounds.lower, 0.6 * (kNewValue - plain_lower));
}

// Rewards of 1 %: without the limit, weights alone leave everything open above.
TEST(ControlledBetsTest, RareRewardsAreBoundedFromAbove) {
  const std::vector<ControlledRound> rounds = ValueRounds(5000, 1, 2, 0.01);
  const MeanBounds bounds = BoundsOf(rounds, kLimit, kAlpha);
  EXPECT_GT(bounds.upper, 0.01 * kNewValue);
  EXPECT_LT(bounds.upper, 3 * 0.01 * kNewValue);
  std::vector<BettingRound> regrets;
  for (const ControlledRound& round : rounds) {
    regrets.push_back(
        {round.difference + round.count - round.base - round.product,
         round.count});
  }
  EXPECT_GT(1 - BettingLowerBound({regrets, 0}, kAlpha), 8 * 0.01 * kNewValue);
}

// Wealth is 1 on average at the true mean although the control was learned from
// the rounds before: by enumeration of all logs of six decisions.
TEST(ControlledBetsTest, LearningTheControlKeepsTheGameFair) {
  constexpr int kRounds = 6;
  constexpr int kOutcomes = 4;
  // d is -1 or 1, r 0 or 1.
  constexpr double kProbability[kOutcomes] = {0.35, 0.15, 0.2, 0.3};
  constexpr double kDifference[kOutcomes] = {-1, -1, 1, 1};
  constexpr double kGain[kOutcomes] = {0, 1, 0, 1};
  // E[r] + E[d r]
  constexpr double kMean = 0.45 + 0.15;
  double wealth = 0;
  for (int log = 0; log < 1 << (2 * kRounds); ++log) {
    double probability = 1;
    std::vector<ControlledRound> rounds;
    for (int g = 0; g < kRounds; ++g) {
      const int outcome = log >> (2 * g) & 3;
      probability *= kProbability[outcome];
      rounds.push_back({kGain[outcome], kDifference[outcome] * kGain[outcome],
                        kDifference[outcome], 1});
    }
    const ControlledSides sides = ControlledBets(rounds, 1, 1);
    wealth +=
        probability * std::exp(LogWealth({sides.above, 1}, kAlpha, kMean));
  }
  EXPECT_NEAR(wealth, 1, 1e-12);
}

// Constant rewards: z does not vary, whatever the weights.
TEST(ControlledBetsTest, ConstantRewardsLeaveLittleOpen) {
  RandomSequence random(SeedKey(3));
  std::vector<ControlledRound> rounds;
  for (int i = 0; i < 5000; ++i) {
    const size_t action = DrawAction(&random);
    const double difference = kNew[action] / kLogging[action] - 1;
    rounds.push_back({0.7, 0.7 * difference, difference, 1});
  }
  const MeanBounds bounds = BoundsOf(rounds, kLimit, kAlpha);
  EXPECT_LT(bounds.lower, 0.7);
  EXPECT_GT(bounds.upper, 0.7);
  // ln(1/α) 2 (L + m) / n = 0.0084 is what the largest bet allows.
  EXPECT_NEAR(bounds.upper - bounds.lower, 2 * 0.0084, 0.005);
}

}  // namespace
}  // namespace sortition
