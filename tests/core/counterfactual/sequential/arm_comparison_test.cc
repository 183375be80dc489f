#include "core/counterfactual/sequential/arm_comparison.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/sequential/mixture_bets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

struct Truth {
  double canary = 0.5;  // Probabilities of reward 1.
  double stable = 0.5;
};

// Whatever happened before: the probabilities of a rollout with three stages.
constexpr double kProbabilities[] = {0.1, 0.1, 0.5, 0.5, 0.9, 0.3};
constexpr int kRounds = 6;

// Calls `take` with every sequence of rounds that there can be, and its
// probability.
template <typename Take>
void ForEachSequence(const Truth& truth, const Take& take) {
  for (int path = 0; path < (1 << (2 * kRounds)); ++path) {
    std::vector<ArmRound> rounds;
    double probability = 1;
    for (int t = 0; t < kRounds; ++t) {
      const bool is_canary = (path >> (2 * t) & 1) != 0;
      const bool is_rewarded = (path >> (2 * t + 1) & 1) != 0;
      const double q = kProbabilities[t];
      const double mean = is_canary ? truth.canary : truth.stable;
      probability *= (is_canary ? q : 1 - q) * (is_rewarded ? mean : 1 - mean);
      rounds.push_back({.is_canary = is_canary,
                        .canary_probability = q,
                        .reward = is_rewarded ? 1.0 : 0.0});
    }
    take(rounds, probability);
  }
}

// The worlds in which D = 0.
struct Case {
  ArmHypothesis hypothesis;
  Truth truth;
};
const Case kCases[] = {
    {{}, {0.3, 0.3}},
    {{.margin = 0.2}, {0.4, 0.5}},
    {{.margin = 1}, {0, 0.7}},
    {{.allowed = 0.25}, {0.25, 0.5}},
    {{.margin = 0.5, .allowed = -0.1}, {0.4, 0.6}},
    {{.margin = -0.2, .allowed = 0.2}, {0.4, 0.5}},
    {{.against_better = true}, {0.3, 0.3}},
    {{.allowed = 0.25, .against_better = true}, {0.25, 0.5}},
};

TEST(ArmEvidenceTest, OfAHypothesisThatJustHoldsIsOneOnAverage) {
  for (const Case& each : kCases) {
    double expected = 0;
    double reached = 0;
    ForEachSequence(each.truth, [&](const std::vector<ArmRound>& rounds,
                                    double probability) {
      ArmComparison comparison({&each.hypothesis, 1});
      for (const ArmRound& round : rounds) comparison.Add(round);
      const MixtureBets& bets = comparison.evidence(0).bets();
      expected += probability * std::exp(bets.LogEvidence());
      if (bets.MostLogEvidence() >= std::log(4)) reached += probability;
    });
    EXPECT_NEAR(expected, 1, 1e-9)
        << each.hypothesis.margin << " " << each.hypothesis.allowed;
    EXPECT_LE(reached, 0.25);
  }
}

TEST(ArmEvidenceTest, OfAHypothesisThatHoldsEasilyFallsAndOfAWrongOneRises) {
  for (const Case& each : kCases) {
    for (const double by : {-0.05, 0.05}) {
      Truth truth = each.truth;
      truth.canary = std::clamp(truth.canary + by, 0.0, 1.0);
      if (truth.canary == each.truth.canary) continue;
      double expected = 0;
      ForEachSequence(
          truth, [&](const std::vector<ArmRound>& rounds, double probability) {
            ArmComparison comparison({&each.hypothesis, 1});
            for (const ArmRound& round : rounds) comparison.Add(round);
            expected += probability *
                        std::exp(comparison.evidence(0).bets().LogEvidence());
          });
      const bool is_wrong = (by > 0) != each.hypothesis.against_better;
      EXPECT_GT(is_wrong ? expected : 2 - expected, 1);
    }
  }
}

// Fills a comparison with rounds of a world; q of three stages in turn.
void Play(const Truth& truth, int rounds, RandomSequence* random,
          ArmComparison* comparison) {
  for (int t = 0; t < rounds; ++t) {
    const double q = kProbabilities[t * kRounds / rounds];
    const bool is_canary = random->Uniform() < q;
    const double mean = is_canary ? truth.canary : truth.stable;
    comparison->Add({.is_canary = is_canary,
                     .canary_probability = q,
                     .reward = random->Uniform() < mean ? 1.0 : 0.0});
  }
}

TEST(ArmComparisonTest, IntervalHoldsTheDifferenceAtAllLooksTogether) {
  const Truth truth{.canary = 0.35, .stable = 0.25};
  constexpr int kRuns = 200;
  int missed = 0;
  for (int run = 0; run < kRuns; ++run) {
    RandomSequence random(SeedKey(static_cast<uint64_t>(run)));
    ArmComparison comparison({});
    bool holds = true;
    for (int look = 0; look < 6; ++look) {
      Play(truth, 60, &random, &comparison);
      const Interval interval = comparison.Difference(0.8);
      EXPECT_LE(interval.lower, interval.value);
      EXPECT_GE(interval.upper, interval.value);
      holds &= interval.lower <= 0.1 && 0.1 <= interval.upper;
    }
    missed += holds ? 0 : 1;
  }
  // 20 % of 200 are 40, and three standard deviations 17.
  EXPECT_LE(missed, 57);
}

TEST(ArmComparisonTest, IntervalEndsWhereTheEvidenceIsEnough) {
  RandomSequence random(SeedKey(5));
  std::vector<ArmRound> rounds;
  ArmComparison comparison({});
  for (int t = 0; t < 2000; ++t) {
    const bool is_canary = random.Uniform() < 0.3;
    rounds.push_back({.is_canary = is_canary,
                      .canary_probability = 0.3,
                      .reward = random.Uniform() * (is_canary ? 1 : 0.8)});
    comparison.Add(rounds.back());
  }
  const Interval interval = comparison.Difference(0.95);
  EXPECT_NEAR(interval.value, 0.1, 0.05);
  const auto evidence_at = [&](double limit, bool is_below) {
    const ArmHypothesis hypothesis{.allowed = -limit,
                                   .against_better = is_below};
    ArmComparison again({&hypothesis, 1});
    for (const ArmRound& round : rounds) again.Add(round);
    return again.evidence(0).bets().LogEvidence();
  };
  EXPECT_NEAR(evidence_at(interval.lower, false), std::log(40), 1e-3);
  EXPECT_NEAR(evidence_at(interval.upper, true), std::log(40), 1e-3);
  EXPECT_GT(interval.lower, 0);
}

TEST(ArmComparisonTest, SaysHowManyRoundsItTakes) {
  const Truth truth{.canary = 0.45, .stable = 0.5};
  const ArmHypothesis hypothesis{.against_better = true};
  constexpr double kAlpha = 0.02;
  constexpr double kQ = 0.5;
  std::vector<double> taken;
  std::vector<double> needed;
  for (uint64_t run = 0; run < 21; ++run) {
    RandomSequence random(SeedKey(run));
    ArmComparison comparison({&hypothesis, 1});
    int rounds = 0;
    while (comparison.evidence(0).bets().MostLogEvidence() <
           std::log(1 / kAlpha)) {
      const bool is_canary = random.Uniform() < kQ;
      comparison.Add({.is_canary = is_canary,
                      .canary_probability = kQ,
                      .reward = random.Uniform() < (is_canary ? truth.canary
                                                              : truth.stable)
                                    ? 1.0
                                    : 0.0});
      ++rounds;
    }
    taken.push_back(rounds);
    // From here on nothing is missing but the mixture's price.
    EXPECT_LT(comparison.RoundsNeeded(0, kAlpha, kQ).value_or(0), rounds);
  }
  std::sort(taken.begin(), taken.end());
  // By hand: 2 V ln(12 / α) / D², V = 0.2494 · 4.
  const double expected = 2 * 0.2494 * 4 * std::log(12 / kAlpha) / 0.0025;
  EXPECT_GT(taken[10], expected / 2.5);
  EXPECT_LT(taken[10], expected * 1.5);
}

TEST(ArmComparisonTest, ExpectsNothingOfAnEstimateOnTheOtherSide) {
  const ArmHypothesis hypothesis{.against_better = true};
  ArmComparison comparison({&hypothesis, 1});
  EXPECT_FALSE(comparison.RoundsNeeded(0, 0.02, 0.5).has_value());
  for (int i = 0; i < 100; ++i) {
    comparison.Add({.is_canary = true, .canary_probability = 0.5, .reward = 1});
    comparison.Add(
        {.is_canary = false, .canary_probability = 0.5, .reward = 0});
  }
  EXPECT_FALSE(comparison.RoundsNeeded(0, 0.02, 0.5).has_value());
  EXPECT_EQ(comparison.CanaryMean(), 1);
  EXPECT_EQ(comparison.StableMean(), 0);
  EXPECT_GT(comparison.DifferenceValue(), 0.9);
}

// Evidence by its definition.
double SlowEvidence(const std::vector<double>& z,
                    const std::vector<double>& least) {
  double sum = 0;
  for (int k = 1; k <= 12; ++k) {
    double wealth = 1;
    for (size_t t = 0; t < z.size(); ++t) {
      wealth *= 1 + std::pow(2.0, -k) * z[t] / least[t];
    }
    sum += wealth;
  }
  return sum / 12;
}

TEST(MixtureBetsTest, IsTheMeanOfTheWealths) {
  const std::vector<double> z = {0.5, -0.25, 3, -1, 0, 0.125};
  const std::vector<double> least = {1, 0.5, 2, 1, 1, 0.25};
  MixtureBets bets;
  EXPECT_DOUBLE_EQ(bets.LogEvidence(), 0);
  double most = 0;
  for (size_t t = 0; t < z.size(); ++t) {
    bets.Add(z[t], least[t]);
    const double slow =
        SlowEvidence({z.begin(), z.begin() + static_cast<long>(t) + 1}, least);
    EXPECT_NEAR(bets.LogEvidence(), std::log(slow), 1e-12);
    most = std::max(most, std::log(slow));
    EXPECT_NEAR(bets.MostLogEvidence(), most, 1e-12);
  }
}

// All sequences of 14 rounds that win 3 with probability 1/4 or lose 1: fair.
TEST(MixtureBetsTest, EvidenceOfAFairGameIsOneOnAverageAndSeldomLarge) {
  constexpr int kNumRounds = 14;
  double expected = 0;
  std::vector<double> needed = {2, 5, 20, 100};
  std::vector<double> reached(needed.size(), 0);
  for (int path = 0; path < (1 << kNumRounds); ++path) {
    MixtureBets bets;
    double probability = 1;
    for (int t = 0; t < kNumRounds; ++t) {
      const bool wins = (path >> t & 1) != 0;
      probability *= wins ? 0.25 : 0.75;
      bets.Add(wins ? 3 : -1, 1);
    }
    expected += probability * std::exp(bets.LogEvidence());
    for (size_t i = 0; i < needed.size(); ++i) {
      // Somewhere on the way: whoever looks always, sees it.
      if (bets.MostLogEvidence() >= std::log(needed[i])) {
        reached[i] += probability;
      }
    }
  }
  EXPECT_NEAR(expected, 1, 1e-12);
  for (size_t i = 0; i < needed.size(); ++i) {
    EXPECT_LE(reached[i], 1 / needed[i]) << needed[i];
  }
  EXPECT_GT(reached[0], 0.1);  // It is no empty promise.
}

TEST(MixtureBetsTest, CountsOnWhereNumbersEnd) {
  MixtureBets bets;
  constexpr int kNumRounds = 5000;
  for (int t = 0; t < kNumRounds; ++t) bets.Add(1, 1);
  // The largest share, 1/2, has (3/2)^n, and 1/12 of it is the mean.
  EXPECT_NEAR(bets.LogWealthOfBest(), kNumRounds * std::log(1.5), 1e-6);
  EXPECT_NEAR(bets.LogEvidence(), kNumRounds * std::log(1.5) - std::log(12.0),
              1e-6);
  EXPECT_DOUBLE_EQ(bets.MostLogEvidence(), bets.LogEvidence());
  bets.Add(-1, 1);
  EXPECT_LT(bets.LogEvidence(), bets.MostLogEvidence());
}

}  // namespace
}  // namespace sortition
