#include "core/counterfactual/evaluation/betting.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/moments.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

// Rounds of `size` decisions of the toy, IPS.
std::vector<BettingRound> IpsRounds(size_t num_rounds, int size,
                                    uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BettingRound> rounds(num_rounds);
  for (BettingRound& round : rounds) {
    for (int i = 0; i < size; ++i) {
      const size_t action = DrawAction(&random);
      const bool wins = random.Uniform() < kReward[action];
      round.sum += wins ? kNew[action] / kLogging[action] : 0;
      round.count += 1;
    }
  }
  return rounds;
}

TEST(BettingTest, BoundFailsNoMoreOftenThanItSays) {
  constexpr int kLogs = 1000;
  for (const size_t num_rounds : {20u, 200u, 1000u}) {
    for (const int size : {1, 10}) {
      int failures = 0;
      for (uint64_t log = 0; log < kLogs; ++log) {
        const auto rounds = IpsRounds(num_rounds, size, 1000 + log);
        failures +=
            BettingLowerBound({rounds, 0, 1.0 * size}, kAlpha) > kNewValue ? 1
                                                                           : 0;
      }
      // Four standard errors above.
      EXPECT_LE(failures,
                kLogs * kAlpha + 4 * std::sqrt(kLogs * kAlpha * (1 - kAlpha)))
          << num_rounds << " rounds of " << size;
    }
  }
}

// One action in a thousand has nearly all of the weight.
TEST(BettingTest, HoldsForHeavyTails) {
  constexpr int kLogs = 1000;
  int failures = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(5000 + log));
    std::vector<BettingRound> rounds(500);
    for (BettingRound& round : rounds) {
      round = {random.Uniform() < 0.001 ? 500.0 : 0.2, 1};
    }
    failures += BettingLowerBound({rounds, 0}, kAlpha) > 0.5 + 0.999 * 0.2;
  }
  EXPECT_LE(failures,
            kLogs * kAlpha + 4 * std::sqrt(kLogs * kAlpha * (1 - kAlpha)));
}

// Rounds of one decision gain what rounds of twenty lose: the mean is 0.
TEST(BettingTest, LargeRoundsThatLoseDoNotPass) {
  constexpr int kLogs = 1000;
  int failures = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(7000 + log));
    std::vector<BettingRound> rounds(200);
    for (BettingRound& round : rounds) {
      const bool is_large = random.Uniform() < 0.5;
      round = {is_large ? -0.5 : 0.5, is_large ? 20.0 : 1.0};
    }
    failures += BettingLowerBound({rounds, 1, 20}, kAlpha) > 0 ? 1 : 0;
  }
  EXPECT_LE(failures,
            kLogs * kAlpha + 4 * std::sqrt(kLogs * kAlpha * (1 - kAlpha)));
}

// One round in 200 has 100 decisions and loses 1 with each; the others gain 0.5
// with one, so that the mean is (99.5 - 100) / 299. A third of the logs, 0.995
// to the power of 200, lack large rounds and look like a sure gain. Knowing
// that there could be one refutes nothing of it; the largest that was seen, and
// a limit that is wrong, fail about as often as large rounds are missing.
TEST(BettingTest, RareLargeRoundsThatLoseDoNotPassWhereTheyAreMissing) {
  constexpr int kLogs = 1000;
  constexpr double kMean = (199 * 0.5 - 100) / 299;
  int failures = 0;
  int missing = 0;
  int failures_by_largest_seen = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(9000 + log));
    std::vector<BettingRound> rounds(200);
    double seen = 1;
    for (BettingRound& round : rounds) {
      const bool is_large = random.Uniform() < 1.0 / 200;
      round = is_large ? BettingRound{-100, 100} : BettingRound{0.5, 1};
      seen = std::max(seen, round.count);
    }
    missing += seen == 1 ? 1 : 0;
    failures += BettingLowerBound({rounds, 1, 100}, kAlpha) > kMean ? 1 : 0;
    failures_by_largest_seen +=
        BettingLowerBound({rounds, 1, seen}, kAlpha) > kMean ? 1 : 0;
  }
  // Four standard errors above.
  EXPECT_LE(failures,
            kLogs * kAlpha + 4 * std::sqrt(kLogs * kAlpha * (1 - kAlpha)));
  EXPECT_GT(missing, 300);
  EXPECT_GE(failures_by_largest_seen, missing);
}

// At the same failure probability, without a limit of the weights.
TEST(BettingTest, IsMuchTighterThanBernstein) {
  const auto rounds = IpsRounds(2000, 1, 7);
  Moments moments;
  for (const BettingRound& round : rounds) moments.Add(round.sum);
  const double bernstein =
      EmpiricalBernsteinSlack(moments, /*range=*/6, kAlpha);
  const double betting =
      moments.mean() - BettingLowerBound({rounds, 0}, kAlpha);
  const double normal =
      1.96 * std::sqrt(moments.variance() / static_cast<double>(rounds.size()));
  EXPECT_LT(betting, 0.75 * bernstein);
  EXPECT_LT(betting, 1.6 * normal);
  EXPECT_GT(betting, normal);
}

TEST(BettingTest, WealthFallsWithTheMean) {
  const auto rounds = IpsRounds(100, 3, 8);
  const BettingGame game = {rounds, 0, 3};
  double last = LogWealth(game, kAlpha, 1e-3);
  for (double m = 0.01; m < 2; m += 0.01) {
    const double wealth = LogWealth(game, kAlpha, m);
    EXPECT_LT(wealth, last) << m;
    last = wealth;
  }
}

TEST(BettingTest, BoundIsWhereTheWealthIsEnough) {
  const auto rounds = IpsRounds(300, 2, 9);
  const BettingGame game = {rounds, 0, 2};
  const double bound = BettingLowerBound(game, kAlpha);
  EXPECT_GT(bound, 0.3);
  EXPECT_NEAR(LogWealth(game, kAlpha, bound), std::log(1 / kAlpha), 1e-6);
}

// The game is fair: at the true mean, wealth is 1 on average. Here exactly, by
// enumeration of all sequences of 8 rounds with two outcomes.
TEST(BettingTest, GameIsFair) {
  constexpr int kRounds = 8;
  constexpr double kProbability = 0.3;
  constexpr double kGain = 2;
  double wealth = 0;
  for (int outcomes = 0; outcomes < 1 << kRounds; ++outcomes) {
    double probability = 1;
    std::vector<BettingRound> rounds(kRounds);
    for (int g = 0; g < kRounds; ++g) {
      const bool wins = (outcomes >> g & 1) != 0;
      rounds[static_cast<size_t>(g)] = {wins ? kGain : 0, 1};
      probability *= wins ? kProbability : 1 - kProbability;
    }
    wealth += probability *
              std::exp(LogWealth({rounds}, kAlpha, kProbability * kGain));
  }
  EXPECT_NEAR(wealth, 1, 1e-12);
}

// One game knows nothing; half of the wealth in the other one is enough.
TEST(BettingTest, WealthInSeveralGamesGoesWithTheBest) {
  const auto rounds = IpsRounds(2000, 1, 11);
  std::vector<BettingRound> noisy = rounds;
  RandomSequence random(SeedKey(12));
  for (BettingRound& round : noisy) round.sum += 40 * (random.Uniform() - 0.5);
  const BettingGame games[] = {{noisy, 20}, {rounds, 0}};
  const double alone = BettingLowerBound({rounds, 0}, kAlpha);
  const double noise = BettingLowerBound({noisy, 20}, kAlpha);
  const double both = BettingLowerBound(games, kAlpha);
  EXPECT_GT(both, noise);
  EXPECT_LT(both, alone);
  // √(ln(2/α) / ln(1/α)) times as far, to second order.
  EXPECT_NEAR((kNewValue - both) / (kNewValue - alone), 1.09, 0.15);
  // The same game twice is one game.
  const BettingGame same[] = {{rounds, 0}, {rounds, 0}};
  EXPECT_NEAR(BettingLowerBound(same, kAlpha), alone, 1e-12);
}

// Differences of rewards may be negative.
TEST(BettingTest, DifferencesHaveALeastValue) {
  RandomSequence random(SeedKey(10));
  std::vector<BettingRound> rounds(3000);
  for (BettingRound& round : rounds) {
    const size_t action = DrawAction(&random);
    const double reward = random.Uniform() < kReward[action] ? 1 : 0;
    round = {reward * (kNew[action] / kLogging[action] - 1), 1};
  }
  const double bound = BettingLowerBound({rounds, 1}, kAlpha);
  EXPECT_LT(bound, kNewValue - kLoggedValue);
  EXPECT_GT(bound, 0.1);
  // Nothing known.
  EXPECT_EQ(BettingLowerBound({{}, 1}, kAlpha), -1);
}

}  // namespace
}  // namespace sortition
