#include "core/counterfactual/estimators.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Four actions without context. Logging policy, new policy and expected reward
// of each; rewards are Bernoulli.
constexpr double kLogging[] = {0.4, 0.3, 0.2, 0.1};
constexpr double kNew[] = {0.1, 0.1, 0.2, 0.6};
constexpr double kReward[] = {0.2, 0.5, 0.6, 0.9};
// v = 0.02 + 0.05 + 0.12 + 0.54; v₀ = 0.08 + 0.15 + 0.12 + 0.09.
constexpr double kNewValue = 0.73;
constexpr double kLoggingValue = 0.44;

struct Sample {
  std::vector<double> rewards;
  std::vector<double> log_weights;
};

Sample Simulate(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Sample sample;
  for (size_t i = 0; i < n; ++i) {
    double u = random.Uniform();
    int action = 0;
    while (action < 3 && u >= kLogging[action]) u -= kLogging[action++];
    sample.rewards.push_back(random.Uniform() < kReward[action] ? 1 : 0);
    sample.log_weights.push_back(std::log(kNew[action] / kLogging[action]));
  }
  return sample;
}

OffPolicyEstimates Evaluate(const Sample& sample, double clip,
                            double confidence, double shift = 0,
                            double scale = 1) {
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    estimator.Add(shift + scale * sample.rewards[i], sample.log_weights[i]);
  }
  return estimator.Estimate(confidence);
}

TEST(EstimatorsTest, IpsIsUnbiased) {
  // One term rρ has variance E[r ρ²] - v² with r in {0, 1}:
  // Σ q ρ² r̄ = .4·.25²·.2 + .3·(1/3)²·.5 + .2·1·.6 + .1·36·.9 = 3.38167, less
  // .73²: 2.8488. The mean of 200 · 1000 terms has deviation 0.003774; being
  // off by more than 4.5 of them has probability 7e-6 under the normal law.
  double sum = 0;
  double logging = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const OffPolicyEstimates estimates =
        Evaluate(Simulate(1000, seed), /*clip=*/100, 0.95);
    EXPECT_DOUBLE_EQ(estimates.ips.value, estimates.unclipped_ips);
    sum += estimates.ips.value;
    logging += estimates.logging.value;
  }
  EXPECT_NEAR(sum / 200, kNewValue, 4.5 * std::sqrt(2.8488 / 200000));
  EXPECT_NEAR(logging / 200, kLoggingValue,
              4.5 * std::sqrt(kLoggingValue * (1 - kLoggingValue) / 200000));
}

TEST(EstimatorsTest, IntervalsCoverTheTruthEvenWhenClipped) {
  // Each interval fails with probability at most 0.1 of 500 runs; more than 80
  // failures have probability below 1e-4 even if exactly 0.1 (deviation 6.7).
  for (const double clip : {1.0, 3.0, 100.0}) {
    int ips = 0, logging = 0, improvement = 0, snips = 0;
    const auto outside = [](const Interval& interval, double truth) {
      return truth < interval.lower || truth > interval.upper ? 1 : 0;
    };
    for (uint64_t seed = 1; seed <= 500; ++seed) {
      const OffPolicyEstimates estimates =
          Evaluate(Simulate(400, 1000 + seed), clip, /*confidence=*/0.9);
      ips += outside(estimates.ips, kNewValue);
      logging += outside(estimates.logging, kLoggingValue);
      improvement += outside(estimates.improvement, kNewValue - kLoggingValue);
      snips += outside(estimates.snips, kNewValue);
    }
    EXPECT_LE(ips, 80) << clip;
    EXPECT_LE(logging, 80) << clip;
    EXPECT_LE(improvement, 80) << clip;
    EXPECT_LE(snips, 80) << clip;
    // Asymptotic intervals are not conservative: some must fail (0.9^500).
    EXPECT_GT(snips, 10);
  }
}

TEST(EstimatorsTest, IntervalsShrinkToTheTruth) {
  const OffPolicyEstimates estimates =
      Evaluate(Simulate(200000, 5), /*clip=*/10, 0.95);
  // √(2 · 2.85 · ln 80 / 2e5) = 0.0112 and 10 · 7 ln 80 / 6e5 = 0.0005.
  EXPECT_LT(estimates.ips.upper - estimates.ips.lower, 0.024);
  EXPECT_GT(estimates.improvement.lower, 0.25);
  EXPECT_LT(estimates.improvement.upper, 0.33);
}

TEST(EstimatorsTest, ClippingOnlyLowersTheEstimateAndTheUpperEndKnowsIt) {
  const Sample sample = Simulate(100000, 6);
  // Clipped at 2, action 3 counts 2 instead of 6: E[r w] = .73 - .54 · 2/3 =
  // .37.
  const OffPolicyEstimates clipped = Evaluate(sample, 2, 0.95);
  EXPECT_NEAR(clipped.ips.value, 0.37, 0.01);
  // 1 - E[(1-r) w] = 1 - (.1·.8 + .1·.5 + .2·.4 + .1·2·.1) = 0.77.
  EXPECT_GE(clipped.ips.upper, kNewValue);
  EXPECT_NEAR(clipped.ips.upper, 0.77, 0.01);
  // Actions 3 are clipped: a tenth.
  EXPECT_NEAR(clipped.clipped_fraction, 0.1, 0.005);
  EXPECT_EQ(Evaluate(sample, 6.5, 0.95).clipped_fraction, 0);
}

TEST(EstimatorsTest, SelfNormalisedIsShiftEquivariant) {
  const Sample sample = Simulate(300, 7);
  const double plain = Evaluate(sample, 5, 0.95, 0, 0.5).snips.value;
  const double shifted = Evaluate(sample, 5, 0.95, 0.3, 0.5).snips.value;
  EXPECT_NEAR(shifted, plain + 0.3, 1e-12);
  // Unlike plain IPS, whose weights do not average to 1 in a sample.
  const double ips = Evaluate(sample, 100, 0.95, 0, 0.5).ips.value;
  const double ips_shifted = Evaluate(sample, 100, 0.95, 0.3, 0.5).ips.value;
  EXPECT_GT(std::fabs(ips_shifted - ips - 0.3), 1e-3);
}

TEST(EstimatorsTest, SamePolicyHasFullEffectiveSampleAndNoImprovement) {
  Sample sample = Simulate(500, 8);
  sample.log_weights.assign(sample.log_weights.size(), 0);
  const OffPolicyEstimates estimates = Evaluate(sample, 10, 0.95);
  EXPECT_DOUBLE_EQ(estimates.effective_sample_size, 500);
  EXPECT_EQ(estimates.improvement.value, 0);
  EXPECT_LT(estimates.improvement.lower, 0);
  EXPECT_GT(estimates.improvement.upper, 0);
  EXPECT_DOUBLE_EQ(estimates.snips.value, estimates.logging.value);
}

TEST(EstimatorsTest, EffectiveSampleSizeIsKishs) {
  OffPolicyEstimator estimator(10);
  estimator.Add(1, std::log(3.0));
  estimator.Add(0, std::log(1.0));
  // (3 + 1)² / (9 + 1) = 1.6
  EXPECT_NEAR(estimator.Estimate(0.9).effective_sample_size, 1.6, 1e-12);
}

TEST(EstimatorsTest, NothingLoggedThatTheNewPolicyDoesSaysNothing) {
  Sample sample = Simulate(100, 9);
  sample.log_weights.assign(100, -std::numeric_limits<double>::infinity());
  const OffPolicyEstimates estimates = Evaluate(sample, 10, 0.95);
  EXPECT_EQ(estimates.ips.lower, 0);
  EXPECT_EQ(estimates.ips.upper, 1);
  EXPECT_EQ(estimates.snips.lower, 0);
  EXPECT_EQ(estimates.snips.upper, 1);
  EXPECT_LT(estimates.improvement.lower, 0);
}

TEST(EstimatorsTest, HugeWeightsStayFinite) {
  OffPolicyEstimator estimator(1000);
  estimator.Add(1, 1e7);
  estimator.Add(0, 0);
  const OffPolicyEstimates estimates = estimator.Estimate(0.95);
  EXPECT_TRUE(std::isfinite(estimates.unclipped_ips));
  EXPECT_TRUE(std::isfinite(estimates.effective_sample_size));
  EXPECT_TRUE(std::isfinite(estimates.snips.value));
  EXPECT_EQ(estimates.ips.value, 500);
}

TEST(EmpiricalBernsteinTest, SlackIsTheoremFour) {
  Moments moments;
  for (const double value : {0.0, 1.0, 0.0, 1.0, 1.0}) moments.Add(value);
  // V = 5 · .6 · .4 / 4 = 0.3; ln(2/0.05) = 3.688879.
  EXPECT_NEAR(
      EmpiricalBernsteinSlack(moments, 1, 0.05),
      std::sqrt(2 * 0.3 * 3.6888794541 / 5) + 7 * 3.6888794541 / (3 * 4), 1e-9);
  EXPECT_EQ(EmpiricalBernsteinSlack(Moments(), 1, 0.05),
            std::numeric_limits<double>::infinity());
}

TEST(NormalQuantileTest, HasTheTabulatedValues) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.01), -2.326347874040841, 1e-9);
}

TEST(EvaluationClipTest, IsLargeForManyTuplesAndSmallForFew) {
  const Sample sample = Simulate(5000, 10);
  // All weight above 6 is no loss: with many tuples the first M at or above 6
  // has the whole signal and the least range.
  EXPECT_EQ(
      ChooseEvaluationClip(sample.rewards, sample.log_weights, 1000000, 0.95),
      7);
  EXPECT_LT(ChooseEvaluationClip(sample.rewards, sample.log_weights, 30, 0.95),
            3);
}

}  // namespace
}  // namespace sortition
