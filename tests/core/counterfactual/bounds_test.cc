#include "core/counterfactual/bounds.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risks.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

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

// The assumption behind the capacity: |f_w - f_w'| <= 2 X ‖w - w'‖ for softmax
// over vectors no longer than X, f = 1 + δ min{M, h/p} / M with δ = -1.
TEST(LinearFamilyLogCapacityTest, PoliciesOfNearWeightsAreNear) {
  constexpr double kNorm = 1.5;
  constexpr double kClip = 4;
  RandomSequence random(SeedKey(5));
  double steepest = 0;
  for (int round = 0; round < 2000; ++round) {
    double x[3];
    for (double& value : x) value = kNorm * (2 * random.Uniform() - 1);
    const double w = 3 * random.Normal();
    const double step = 0.01 * random.Normal();
    const double p = 0.05 + 0.9 * random.Uniform();
    const auto f = [&](double weight) {
      double total = 0;
      for (const double value : x) total += std::exp(weight * value);
      const double h = std::exp(weight * x[0]) / total;
      return 1 - std::fmin(kClip, h / p) / kClip;
    };
    steepest = std::fmax(steepest, std::fabs(f(w + step) - f(w)) /
                                       (2 * kNorm * std::fabs(step)));
  }
  EXPECT_LE(steepest, 1);
  EXPECT_GT(steepest, 0.2);  // The bound is of the right order.
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

}  // namespace
}  // namespace sortition
