#include "core/learners/classes/logistic.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

config::v1::LogisticOptions LogisticOptionsOf(double l2) {
  config::v1::LogisticOptions options;
  options.set_l2(l2);
  return options;
}

TEST(LogisticTest, WithoutPenaltyReproducesATwoByTwoTable) {
  // x = 0: 1 of 4 relevant; x = 1: 3 of 4. The model is saturated, so that the
  // fitted probabilities are the shares: b = log(1/3), w + b = log 3.
  const std::vector<float> features = {0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<uint8_t> labels = {1, 0, 0, 0, 1, 1, 1, 0};
  ASSERT_OK_AND_ASSIGN(
      const LogisticResult result,
      FitLogistic({features, labels, 1}, LogisticOptionsOf(0)));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.intercept, -std::log(3.0), 1e-10);
  EXPECT_NEAR(result.weights[0], 2 * std::log(3.0), 1e-10);
}

// x = 1, 3 of 4 relevant: σ(w) = 3/4. If all are relevant, a penalty keeps w
// finite.
TEST(LogisticTest, WithoutInterceptTheWeightsSayAll) {
  const std::vector<float> features = {1, 1, 1, 1};
  std::vector<uint8_t> labels = {1, 1, 0, 1};
  ASSERT_OK_AND_ASSIGN(
      const LogisticResult result,
      FitLogistic({features, labels, 1, false}, LogisticOptionsOf(0)));
  EXPECT_NEAR(result.weights[0], std::log(3.0), 1e-10);
  EXPECT_EQ(result.intercept, 0);
  labels[2] = 1;
  // 4 σ(-w) = l2 w: at w = log 3 for l2 = 1 / log 3.
  ASSERT_OK_AND_ASSIGN(const LogisticResult all,
                       FitLogistic({features, labels, 1, false},
                                   LogisticOptionsOf(1 / std::log(3.0))));
  EXPECT_NEAR(all.weights[0], std::log(3.0), 1e-6);
}

TEST(LogisticTest, GradientIsZeroAtTheOptimum) {
  constexpr size_t kRows = 200;
  constexpr size_t kNumFeatures = 5;
  constexpr double kL2 = 0.7;
  RandomSequence random(SeedKey(1));
  std::vector<float> features(kRows * kNumFeatures);
  std::vector<uint8_t> labels(kRows);
  for (size_t i = 0; i < kRows; ++i) {
    double score = -1;
    for (size_t j = 0; j < kNumFeatures; ++j) {
      features[i * kNumFeatures + j] = static_cast<float>(3 * random.Normal());
      score += features[i * kNumFeatures + j] * (j % 2 == 0 ? 1.0 : -0.5);
    }
    labels[i] = random.Uniform() < 1 / (1 + std::exp(-score)) ? 1 : 0;
  }
  ASSERT_OK_AND_ASSIGN(
      const LogisticResult result,
      FitLogistic({features, labels, kNumFeatures}, LogisticOptionsOf(kL2)));
  EXPECT_TRUE(result.converged);
  // Σᵢ (σ(w·xᵢ + b) - yᵢ) xᵢ + l2 w = 0; b has no penalty.
  std::vector<double> gradient(kNumFeatures + 1);
  for (size_t i = 0; i < kRows; ++i) {
    double score = result.intercept;
    for (size_t j = 0; j < kNumFeatures; ++j) {
      score += result.weights[j] * features[i * kNumFeatures + j];
    }
    const double residual = 1 / (1 + std::exp(-score)) - labels[i];
    for (size_t j = 0; j < kNumFeatures; ++j) {
      gradient[j] += residual * features[i * kNumFeatures + j];
    }
    gradient[kNumFeatures] += residual;
  }
  for (size_t j = 0; j < kNumFeatures; ++j) {
    EXPECT_NEAR(gradient[j] + kL2 * result.weights[j], 0, 1e-9) << j;
  }
  EXPECT_NEAR(gradient[kNumFeatures], 0, 1e-9);
}

TEST(LogisticTest, SeparableLabelsAreFineWithAPenalty) {
  const std::vector<float> features = {-100, -1, 1, 100};
  const std::vector<uint8_t> labels = {0, 0, 1, 1};
  ASSERT_OK_AND_ASSIGN(
      const LogisticResult result,
      FitLogistic({features, labels, 1}, LogisticOptionsOf(1e-3)));
  EXPECT_TRUE(result.converged);
  EXPECT_GT(result.weights[0], 0);
  EXPECT_NEAR(result.intercept, 0, 1e-6);  // By symmetry.
}

TEST(LogisticTest, ConvergesToASmallGradientAtAnyScaleOfTheFeatures) {
  // Heavy-tailed features of about 1e16, so that weights are about 1e-16 and
  // full Newton steps are often too long. Each row has its mirror image, so
  // that the intercept is 0.
  constexpr double kScale = 1e16;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomSequence random(SeedKey(seed));
    std::vector<float> features;
    std::vector<uint8_t> labels;
    for (int i = 0; i < 6; ++i) {
      float row[2];
      for (float& value : row) {
        const double magnitude = std::exp(3 * random.Normal());
        value = static_cast<float>(random.Uniform() < 0.5 ? -kScale * magnitude
                                                          : kScale * magnitude);
      }
      const bool relevant = random.Uniform() < 0.5;
      features.insert(features.end(), {row[0], row[1], -row[0], -row[1]});
      labels.insert(labels.end(), {relevant, !relevant});
    }
    double largest = 0;
    for (const float value : features) {
      largest = std::fmax(largest, std::fabs(value));
    }
    ASSERT_OK_AND_ASSIGN(
        const LogisticResult result,
        FitLogistic({features, labels, 2},
                    LogisticOptionsOf(1e-6 * kScale * kScale)));
    EXPECT_TRUE(result.converged) << seed;
    EXPECT_LT(result.gradient_norm, 1e-6 * largest) << seed;
  }
}

TEST(LogisticTest, RefusesLabelsOfOneKindAndWrongSizes) {
  const std::vector<float> features = {1, 2, 3};
  const std::vector<uint8_t> none = {0, 0, 0};
  const std::vector<uint8_t> two = {0, 1};
  EXPECT_THAT(FitLogistic({features, none, 1}, LogisticOptionsOf(1)),
              IsInvalidArgument("0 of 3 candidates are relevant"));
  EXPECT_THAT(FitLogistic({features, two, 1}, LogisticOptionsOf(1)),
              IsInvalidArgument("there are 3 values"));
}

}  // namespace
}  // namespace sortition
