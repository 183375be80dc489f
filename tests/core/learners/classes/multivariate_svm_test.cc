#include "core/learners/classes/multivariate_svm.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr uint32_t kItems = 8;
constexpr uint32_t kFeatures = 3;

struct MultivariateProblem {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  MultivariateLoss loss;
  Candidates items() const { return *Candidates::Dense(features, kFeatures); }
};

MultivariateProblem RandomMultivariateProblem(RandomSequence& random) {
  MultivariateProblem problem;
  for (uint32_t i = 0; i < kItems; ++i) {
    problem.labels.push_back(i < 3 ? 1 : 0);
    for (uint32_t j = 0; j < kFeatures; ++j) {
      problem.features.push_back(
          static_cast<float>(random.Normal() + problem.labels[i]));
    }
  }
  problem.loss.measure = static_cast<MultivariateMeasure>(random.Below(4));
  if (problem.loss.measure == MultivariateMeasure::kPrecisionAtK) {
    problem.loss.fewest = problem.loss.most = 3;
  }
  return problem;
}

// All of the 2^8 planes of the hinge whose vectors are within the bounds.
CuttingPlanes AllPlanes(const MultivariateProblem& problem) {
  CuttingPlanes planes(kFeatures, 1 << kItems);
  for (uint32_t word = 0; word < (1u << kItems); ++word) {
    std::vector<uint8_t> v(kItems);
    size_t size = 0;
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(kFeatures);
    for (uint32_t i = 0; i < kItems; ++i) {
      v[i] = (word >> i) & 1;
      size += v[i];
      for (uint32_t j = 0; j < kFeatures; ++j) {
        slope[j] += (v[i] - problem.labels[i]) *
                    static_cast<double>(problem.features[i * kFeatures + j]);
      }
    }
    if (size < problem.loss.fewest || size > problem.loss.most) continue;
    planes.Add(1 - MeasureOf(problem.loss, v, problem.labels), slope);
  }
  return planes;
}

TEST(MultivariateSvmTest, AgreesWithAllConstraintsAtOnce) {
  RandomSequence random(SeedKey(1));
  config::v1::OneSlackOptions options;
  options.set_gap_tolerance(1e-6);
  for (int trial = 0; trial < 60; ++trial) {
    const MultivariateProblem problem = RandomMultivariateProblem(random);
    auto svm = MultivariateSvm::Create(problem.items(), problem.labels,
                                       problem.loss, options);
    ASSERT_TRUE(svm.ok()) << svm.status();
    CuttingPlanes all = AllPlanes(problem);
    Eigen::VectorXd start;
    for (const double lambda : {3.0, 0.3, 0.03}) {
      const auto exact = all.Maximise(lambda, 1e-11, 1000000);
      const auto result = (*svm)->Train(lambda, start);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_LE(result->gap(), 1e-6);
      EXPECT_NEAR(result->objective, exact.value, 2e-6);
      EXPECT_LE(result->dual_bound, exact.value + 1e-9);
      start = result->weights;
    }
  }
}

// If one feature separates the labels, enough weight on it makes every hinge 0:
// J is at most λ/2 ‖w‖².
TEST(MultivariateSvmTest, SeparatesWhatCanBeSeparated) {
  MultivariateProblem problem;
  for (uint32_t i = 0; i < kItems; ++i) {
    problem.labels.push_back(i % 3 == 0 ? 1 : 0);
    problem.features.insert(problem.features.end(),
                            {problem.labels[i] != 0 ? 1.f : -1.f, 0.f, 0.f});
  }
  auto svm = MultivariateSvm::Create(problem.items(), problem.labels, {}, {});
  ASSERT_TRUE(svm.ok());
  const auto result = (*svm)->Train(1e-3, {});
  ASSERT_TRUE(result.ok());
  // Σ (vᵢ - yᵢ) wᵢ <= -w times the number of differences, Δ <= 1: w = 1 is
  // enough.
  EXPECT_LE(result->objective, 1e-3 / 2 + 1e-3);
  std::vector<double> scores;
  for (const uint8_t label : problem.labels) {
    scores.push_back(result->weights[0] * (label != 0 ? 1 : -1));
  }
  EXPECT_EQ(PredictLabels({}, scores), problem.labels);
}

TEST(MultivariateSvmTest, RefusesLabelsThatDoNotFit) {
  const std::vector<float> features(kFeatures, 1);
  const auto items = *Candidates::Dense(features, kFeatures);
  EXPECT_EQ(MultivariateSvm::Create(items, {}, {}, {}).status().message(),
            "there are 0 labels, must be 1, one per item");
}

}  // namespace
}  // namespace sortition
