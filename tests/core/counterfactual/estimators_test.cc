#include "core/counterfactual/estimators.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/bounds.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/risks.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/counterfactual/weighted_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/toy_actions.h"
#include "tests/core/counterfactual/toy_policy.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using namespace testing_evaluation;  // NOLINT

struct Sample {
  std::vector<double> rewards;
  std::vector<double> log_weights;
};

Sample Simulate(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Sample sample;
  for (size_t i = 0; i < n; ++i) {
    const size_t action = DrawAction(&random);
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
  EXPECT_NEAR(logging / 200, kLoggedValue,
              4.5 * std::sqrt(kLoggedValue * (1 - kLoggedValue) / 200000));
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
      logging += outside(estimates.logging, kLoggedValue);
      improvement += outside(estimates.improvement, kNewValue - kLoggedValue);
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

TEST(EstimatorsTest, BoundsAreThoseDerivedByHand) {
  // Clipped at M = 3, 1000 tuples:
  //   tuples   r     ρ    w     rw    (1-r)w  rw-r   (1-r)(1-w)
  //      400   1    .75  .75   .75    0      -.25     0
  //      300   0    .5   .5    0      .5      0       .5
  //      200   .5   1    1     .5     .5      0       0
  //      100   1    6    3     3      0       2       0
  //   sum                       700    250     100     150
  //   sum of squares           1175    125     425      75
  OffPolicyEstimator estimator(/*clip=*/3);
  const auto add = [&estimator](int count, double reward, double weight) {
    for (int i = 0; i < count; ++i) estimator.Add(reward, std::log(weight));
  };
  add(400, 1, 0.75);
  add(300, 0, 0.5);
  add(200, 0.5, 1);
  add(100, 1, 6);
  const OffPolicyEstimates estimates = estimator.Estimate(/*confidence=*/0.9);
  // γ/2 = .05 on each side: ln(2 / .05) = ln 40. The ranges are those of w: 3.
  const double log_term = std::log(40.0);
  const auto slack = [log_term](double sum, double sum_of_squares) {
    const double variance = (sum_of_squares - sum * sum / 1000) / 999;
    return std::sqrt(2 * variance * log_term / 1000) +
           3 * 7 * log_term / (3 * 999);
  };
  EXPECT_NEAR(estimates.ips.value, 0.7, 1e-12);
  EXPECT_NEAR(estimates.ips.lower, 0.7 - slack(700, 1175), 1e-12);
  EXPECT_NEAR(estimates.ips.upper, 1 - (0.25 - slack(250, 125)), 1e-12);
  EXPECT_NEAR(estimates.improvement.value, 0.1, 1e-12);
  EXPECT_NEAR(estimates.improvement.lower, 0.1 - slack(100, 425), 1e-12);
  EXPECT_NEAR(estimates.improvement.upper, 0.15 + slack(150, 75), 1e-12);
}

TEST(EstimatorsTest, LowerBoundsHoldWhereTheSampleDoesNotShowTheTail) {
  // Action   logging   new    ρ            reward
  //   A      .998      .9     .9/.998      1
  //   B      .001      .1     100          0
  //   C      .001      0      0            1
  // v = .9, v₀ = .999. In .998^100 = 82 % of the samples of 100 there is only
  // A: all r w are .9018 > v and all r w - r are -.0982 > v - v₀, without any
  // variance. The range alone keeps the bounds below the truth; without it 82 %
  // of 200 runs would fail, and at most γ/2 = 5 % may (10, deviation 3.1).
  int ips = 0, improvement = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomSequence random(SeedKey(seed));
    OffPolicyEstimator estimator(/*clip=*/100);
    for (int i = 0; i < 100; ++i) {
      const double u = random.Uniform();
      if (u < 0.998) {
        estimator.Add(1, std::log(0.9 / 0.998));
      } else if (u < 0.999) {
        estimator.Add(0, std::log(100.0));
      } else {
        estimator.Add(1, -std::numeric_limits<double>::infinity());
      }
    }
    const OffPolicyEstimates estimates = estimator.Estimate(0.9);
    ips += estimates.ips.lower > 0.9 ? 1 : 0;
    improvement += estimates.improvement.lower > 0.9 - 0.999 ? 1 : 0;
  }
  EXPECT_LE(ips, 22);
  EXPECT_LE(improvement, 22);
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
  // A tenth of the actions, action 3, is clipped.
  EXPECT_NEAR(clipped.clipped_fraction, 0.1, 0.005);
  EXPECT_EQ(Evaluate(sample, 6.5, 0.95).clipped_fraction, 0);
}

TEST(EstimatorsTest, SelfNormalisedIsShiftEquivariant) {
  const Sample sample = Simulate(300, 7);
  const double plain = Evaluate(sample, 5, 0.95, 0, 0.5).snips.value;
  const double shifted = Evaluate(sample, 5, 0.95, 0.3, 0.5).snips.value;
  EXPECT_NEAR(shifted, plain + 0.3, 1e-12);
  // Weights of plain IPS, unlike these, do not average to 1 in a sample.
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

TEST(EstimatorsTest, WeightsWhoseSquaresVanishSayNothing) {
  // e^-400 is a number, its square is 0.
  OffPolicyEstimator estimator(10);
  for (int i = 0; i < 100; ++i) estimator.Add(1, -400);
  const OffPolicyEstimates estimates = estimator.Estimate(0.95);
  EXPECT_EQ(estimates.effective_sample_size, 0);
  EXPECT_EQ(estimates.snips.lower, 0);
  EXPECT_EQ(estimates.snips.upper, 1);
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

// One and two degrees of freedom have closed forms, tan(π (p - ½)) and, with a
// = 4p(1-p), 2 (p - ½) √(2 / a). Others are compared with tables, and the limit
// with the normal distribution.
TEST(StudentQuantileTest, HasTheTabulatedValues) {
  const double p = 0.975;
  EXPECT_NEAR(StudentQuantile(p, 1), std::tan(std::numbers::pi * (p - 0.5)),
              1e-9);
  EXPECT_NEAR(StudentQuantile(p, 2),
              2 * (p - 0.5) * std::sqrt(2 / (4 * p * (1 - p))), 1e-9);
  EXPECT_NEAR(StudentQuantile(p, 9), 2.262157, 1e-6);
  EXPECT_NEAR(StudentQuantile(p, 30), 2.042272, 1e-6);
  EXPECT_NEAR(StudentQuantile(0.95, 120), 1.657651, 1e-6);
  EXPECT_NEAR(StudentQuantile(p, 1000000), NormalQuantile(p), 1e-5);
}

TEST(EvaluationClipTest, IsLargeForManyTuplesAndSmallForFew) {
  const Sample sample = Simulate(5000, 10);
  // Weight above 6 does not occur, so clipping there loses nothing: with many
  // tuples the first M at or above 6 has the whole signal and the least range.
  EXPECT_EQ(
      ChooseEvaluationClip(sample.rewards, sample.log_weights, 1000000, 0.95),
      7);
  EXPECT_LT(ChooseEvaluationClip(sample.rewards, sample.log_weights, 30, 0.95),
            3);
}

// n losses, half of them -1, the others 0.
Moments Halves(int n) {
  Moments moments;
  for (int i = 0; i < n; ++i) moments.Add(i % 2 == 0 ? -1 : 0);
  return moments;
}

// n = 16: mean -1/2, V = 16 (1/4) / 15 = 4/15. γ = 0.1, N = 1: Q = log 100.
//   √(18 (4/15) Q / 16) = √(0.3 Q) = 1.1753940, 15 · 2 · Q / 15 = 2 Q.
TEST(CrmGeneralisationBoundTest, IsTheorem3ByHand) {
  const double q = 4.605170185988091;
  EXPECT_NEAR(CrmGeneralisationBound(Halves(16), 2, 0, 0.1),
              -0.5 + std::sqrt(0.3 * q) + 2 * q, 1e-12);
  EXPECT_NEAR(CrmGeneralisationBound(Halves(16), 2, 0, 0.1), 9.8857344, 1e-7);
  // Ten policies at γ = 1 - ε cost as much as one at a tenth of it.
  EXPECT_NEAR(CrmGeneralisationBound(Halves(16), 2, std::log(10), 0.99),
              CrmGeneralisationBound(Halves(16), 2, 0, 0.099), 1e-12);
}

TEST(CrmGeneralisationBoundTest, NeedsSixteenTuples) {
  EXPECT_TRUE(std::isinf(CrmGeneralisationBound(Halves(15), 1, 0, 0.1)));
  EXPECT_TRUE(std::isfinite(CrmGeneralisationBound(Halves(16), 1, 0, 0.1)));
}

TEST(CrmGeneralisationBoundTest, IsMonotoneInTuplesClipConfidenceAndCapacity) {
  // The mean is the same for all even n, the variance falls to 1/4.
  for (const int n : {16, 64, 1000, 100000}) {
    EXPECT_GT(CrmGeneralisationBound(Halves(n), 5, 1, 0.1),
              CrmGeneralisationBound(Halves(2 * n), 5, 1, 0.1));
  }
  for (const double clip : {1.0, 2.0, 100.0}) {
    EXPECT_LT(CrmGeneralisationBound(Halves(64), clip, 1, 0.1),
              CrmGeneralisationBound(Halves(64), clip + 1, 1, 0.1));
  }
  for (const double failure : {0.001, 0.1, 0.5}) {
    EXPECT_GT(CrmGeneralisationBound(Halves(64), 5, 1, failure),
              CrmGeneralisationBound(Halves(64), 5, 1, 1.5 * failure));
  }
  EXPECT_LT(CrmGeneralisationBound(Halves(64), 5, 1, 0.1),
            CrmGeneralisationBound(Halves(64), 5, 2, 0.1));
  // The bound approaches the mean as 1/√n.
  EXPECT_NEAR(CrmGeneralisationBound(Halves(100000000), 1, 0, 0.1), -0.5, 1e-3);
}

// One query of three actions, logged with p = (0.6, 0.3, 0.1), losses (-0.1,
// -0.4, -0.9). Eight policies h_t ∝ exp(t δ), t from -4 to 10; some of them
// almost always choose the third action: ρ up to 10, clipped at M = 6.
TEST(CrmGeneralisationBoundTest, HoldsForAllOfAFiniteClassAtOnce) {
  constexpr double kPropensities[] = {0.6, 0.3, 0.1};
  constexpr double kLosses[] = {-0.1, -0.4, -0.9};
  constexpr int kPolicies = 8;
  constexpr int kTuples = 200;
  constexpr int kLogs = 1000;
  constexpr double kClip = 6;
  constexpr double kFailure = 0.2;
  double probabilities[kPolicies][3];
  double risks[kPolicies] = {};
  for (int h = 0; h < kPolicies; ++h) {
    double total = 0;
    for (int y = 0; y < 3; ++y) {
      probabilities[h][y] = std::exp((4 - 2 * h) * kLosses[y]);
      total += probabilities[h][y];
    }
    for (int y = 0; y < 3; ++y) {
      probabilities[h][y] /= total;
      risks[h] += probabilities[h][y] * kLosses[y];
    }
  }
  RandomSequence random(SeedKey(11));
  int failures = 0;
  int failures_of_means = 0;
  for (int log = 0; log < kLogs; ++log) {
    std::vector<Moments> moments(kPolicies);
    for (int i = 0; i < kTuples; ++i) {
      const double u = random.Uniform();
      const int y = u < 0.6 ? 0 : u < 0.9 ? 1 : 2;
      for (int h = 0; h < kPolicies; ++h) {
        moments[h].Add(ClippedLoss(
            kLosses[y], std::log(probabilities[h][y] / kPropensities[y]),
            kClip));
      }
    }
    bool fails = false;
    bool mean_fails = false;
    for (int h = 0; h < kPolicies; ++h) {
      fails |= risks[h] > CrmGeneralisationBound(moments[h], kClip,
                                                 std::log(kPolicies), kFailure);
      mean_fails |= risks[h] > moments[h].mean();
    }
    failures += fails ? 1 : 0;
    failures_of_means += mean_fails ? 1 : 0;
  }
  EXPECT_LE(failures, kFailure * kLogs);
  // The term added to the mean is needed: without it half of the logs fail.
  EXPECT_GT(failures_of_means, 0.4 * kLogs);
}

// 400 tuples of δ = -1: every tenth has the weight 6, the others 4/9, which is
// the rest of a mean weight of 1.
TEST(BestCrmBoundTest, TakesTheBestClipAndPaysForSevenOfThem) {
  const auto bound_of = [](int n) {
    const std::vector<double> losses(n, -1);
    std::vector<double> log_weights;
    Moments clipped[2];  // At M = 1 and 10.
    for (int i = 0; i < n; ++i) {
      log_weights.push_back(std::log(i % 10 == 0 ? 6.0 : 4 / 9.0));
      clipped[0].Add(-std::fmin(1, std::exp(log_weights.back())));
      clipped[1].Add(-std::exp(log_weights.back()));
    }
    const ClippedBound best = BestCrmBound(losses, log_weights, 0.5, 0.1);
    const double capacity = 0.5 + std::log(7);
    EXPECT_NEAR(best.risk,
                CrmGeneralisationBound(clipped[best.clip == 1 ? 0 : 1],
                                       best.clip, capacity, 0.1),
                1e-9);
    return best;
  };
  // With few tuples the range decides, with many the bias.
  EXPECT_EQ(bound_of(400).clip, 1);
  EXPECT_EQ(bound_of(400000).clip, 10);
  EXPECT_TRUE(std::isinf(BestCrmBound({}, {}, 0, 0.1).risk));
}

// D = 2, k = 1, X = 3, W = 4, n = 16: (1 + 4 · 3 · 4 · 16)² = 769².
TEST(LinearFamilyLogCapacityTest, IsThatOfAGridOnTheBall) {
  const LinearFamilyBall ball{.dimension = 2, .radius = 4, .feature_norm = 3};
  EXPECT_NEAR(LinearFamilyLogCapacity(ball, 16), 2 * std::log(769), 1e-12);
  // The bound is vacuous for a usual log: 20 features, 10,000 tuples, M = 10.
  const LinearFamilyBall usual{.dimension = 20, .radius = 8, .feature_norm = 5};
  Moments moments;
  for (int i = 0; i < 10000; ++i) moments.Add(-1);
  EXPECT_GT(CrmGeneralisationBound(moments, 10,
                                   LinearFamilyLogCapacity(usual, 10000), 0.05),
            0);
}

TEST(ChooseRadiusTest, SharesOfAllRadiiAddUpToOne) {
  EXPECT_EQ(ChooseRadius(0).radius, 1);
  EXPECT_EQ(ChooseRadius(0).share, 0.5);
  EXPECT_EQ(ChooseRadius(1).radius, 1);
  EXPECT_EQ(ChooseRadius(5).radius, 8);
  EXPECT_EQ(ChooseRadius(5).share, 1.0 / 20);  // j = 3.
  double sum = 0;
  for (int j = 0; j < 60; ++j) sum += ChooseRadius(std::ldexp(1, j)).share;
  EXPECT_NEAR(sum, 1 - 1.0 / 61, 1e-12);  // The sum telescopes.
}

TEST(ChooseLogSmoothingLambdaTest, TakesTheOneWithTheLowestBound) {
  const std::vector<double> losses = {-1, -1, 0, -0.5};
  const std::vector<double> log_weights = {2, -1, 0, 0.5};
  const auto bound = [&](double lambda, uint64_t n) {
    return LogSmoothingBound(
        LogSmoothingRisk::Create(lambda)->Evaluate(losses, log_weights, {}),
        lambda, n, 0.05);
  };
  const double few = ChooseLogSmoothingLambda(losses, log_weights, 10, 0.05);
  const double many =
      ChooseLogSmoothingLambda(losses, log_weights, 1000000, 0.05);
  for (const double lambda : {1e-4, 0.01, 0.1, 0.3, 1.0}) {
    EXPECT_LE(bound(few, 10), bound(lambda, 10));
    EXPECT_LE(bound(many, 1000000), bound(lambda, 1000000));
  }
  // More tuples need less smoothing.
  EXPECT_LT(many, few);
}

constexpr double kBeta = 0.6;

// Says what it is asked for, each with a value of its own.
class RecordingPolicy : public ToyPolicy {
 public:
  using ToyPolicy::ToyPolicy;
  double reward(size_t i) const override {
    return 0.5 + 0.01 * static_cast<double>(i);
  }
  std::optional<EntryGroups> Entries(
      std::span<const uint32_t> tuples) override {
    asked.assign(tuples.begin(), tuples.end());
    return groups;
  }
  size_t value_block_size() const override { return 2 * block_size(); }
  void Prefetch(std::span<const uint32_t> tuples) const override {
    fetched.assign(tuples.begin(), tuples.end());
  }

  EntryGroups groups;
  std::vector<uint32_t> asked;
  mutable std::vector<uint32_t> fetched;
};

TEST(SmoothedPropensitiesTest, NothingElseOfThePolicyChanges) {
  RecordingPolicy policy(10, 1);
  policy.weights[3] = 2.5;
  SmoothedPropensities smoothed(&policy, kBeta);
  EXPECT_EQ(smoothed.num_tuples(), 10);
  EXPECT_EQ(smoothed.dimension(), policy.dimension());
  EXPECT_EQ(smoothed.block_size(), policy.block_size());
  EXPECT_EQ(smoothed.weight(3), 2.5);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(smoothed.loss(i), policy.loss(i));
    EXPECT_EQ(smoothed.reward(i), policy.reward(i));
    EXPECT_NEAR(std::exp(smoothed.log_propensity(i)),
                std::pow(std::exp(policy.log_propensity(i)), kBeta), 1e-15);
  }
  EXPECT_EQ(smoothed.value_block_size(), policy.value_block_size());
  EXPECT_TRUE(smoothed.Entries(std::vector<uint32_t>{1, 4}).has_value());
  EXPECT_THAT(policy.asked, ElementsAre(1, 4));
  smoothed.Prefetch(std::vector<uint32_t>{2, 5});
  EXPECT_THAT(policy.fetched, ElementsAre(2, 5));
}

// Objectives of weights h / p^β, written out.
TEST(SmoothedPropensitiesTest, ObjectivesAreThoseOfPowersOfThePropensities) {
  constexpr double kClip = 1.4;
  constexpr double kLambda = 0.3;
  ToyPolicy policy(50, 2);
  policy.losses[7] = 0;
  policy.weights[4] = 1.5;
  SmoothedPropensities smoothed(&policy, kBeta);
  const Eigen::VectorXd point = Eigen::Vector2d(0.4, -0.8);
  Moments clipped, logarithms, losses, weights;
  for (size_t i = 0; i < 50; ++i) {
    const double weight = std::exp(policy.LogProbability(point, i)) /
                          std::pow(std::exp(policy.log_propensities[i]), kBeta);
    const double loss = policy.losses[i];
    const double count = policy.weights[i];
    clipped.Add(loss * std::fmin(kClip, weight), count);
    logarithms.Add(-std::log(1 - kLambda * loss * weight) / kLambda, count);
    losses.Add(loss * weight, count);
    weights.Add(weight, count);
  }
  struct Case {
    TermFunction term;
    double lambda;
    double expected;
  };
  for (const Case& c :
       {Case{ClippedTerm(kClip), kLambda,
             clipped.mean() +
                 kLambda * std::sqrt(clipped.variance() / clipped.total())},
        Case{ClippedTerm(HUGE_VAL), 0, losses.mean()},
        Case{LogSmoothedTerm(kLambda), 0, logarithms.mean()}}) {
    ASSERT_OK_AND_ASSIGN(WeightedTerms terms,
                         WeightedTerms::Create(&smoothed, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                         TermObjective::Create(&terms, c.lambda, 0));
    EXPECT_NEAR(objective.Evaluate(point, nullptr), c.expected, 1e-13);
    ExpectGradient(objective, point);
  }
  const SelfNormalisedRisk risk = *SelfNormalisedRisk::Create(0);
  ASSERT_OK_AND_ASSIGN(const RiskObjective normalised,
                       RiskObjective::Create(&smoothed, &risk, 0));
  EXPECT_NEAR(normalised.Evaluate(point, nullptr),
              losses.mean() / weights.mean(), 1e-13);
  ExpectGradient(normalised, point);
}

}  // namespace
}  // namespace sortition
