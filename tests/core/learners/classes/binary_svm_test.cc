#include <cmath>
#include <random>

#include "core/base/random.h"
#include "core/learners/classes/linear_svm.h"
#include "core/learners/classes/multivariate_svm.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

struct BinaryProblem {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  uint32_t num_features;

  BinaryData view() const { return {features, labels, num_features}; }
  double Objective(const std::vector<double>& w, double lambda) const {
    double penalty = 0;
    for (const double weight : w) penalty += lambda / 2 * weight * weight;
    double hinge = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      double score = 0;
      for (uint32_t j = 0; j < num_features; ++j) {
        score += w[j] * features[i * num_features + j];
      }
      hinge += std::max(0.0, 1 - (labels[i] != 0 ? score : -score));
    }
    return penalty + hinge / static_cast<double>(labels.size());
  }
};

BinaryProblem RandomBinaryProblem(std::mt19937_64* random) {
  std::normal_distribution<float> normal;
  BinaryProblem problem = {{}, {}, 1 + static_cast<uint32_t>((*random)() % 4)};
  const size_t n = 1 + (*random)() % 30;
  for (size_t i = 0; i < n; ++i) {
    problem.labels.push_back((*random)() % 2);
    for (uint32_t j = 0; j < problem.num_features; ++j) {
      problem.features.push_back(normal(*random) +
                                 (problem.labels.back() != 0 ? 0.5f : 0));
    }
  }
  return problem;
}

TEST(LinearSvmTest, GapProvesTheMinimum) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const BinaryProblem problem = RandomBinaryProblem(&random);
    const LinearSvmOptions options = {
        .lambda = 0.05, .gap_tolerance = 1e-5, .max_passes = 20000};
    ASSERT_OK_AND_ASSIGN(const LinearSvmResult result,
                         TrainLinearSvm(problem.view(), options));
    EXPECT_LE(result.gap(), 1e-5);
    EXPECT_GE(result.gap(), -1e-12);
    EXPECT_NEAR(result.objective, problem.Objective(result.weights, 0.05),
                1e-12);
    for (int other = 0; other < 100; ++other) {
      std::vector<double> w = result.weights;
      for (double& weight : w) weight += 0.1 * normal(random);
      EXPECT_GE(problem.Objective(w, 0.05), result.dual_bound - 1e-12);
    }
  }
}

// Two points, at 1 and -1: w = 1 for λ up to 1, otherwise 1/λ.
TEST(LinearSvmTest, SolvesTwoPoints) {
  const std::vector<float> features = {1, -1};
  const std::vector<uint8_t> labels = {1, 0};
  for (const double lambda : {0.1, 1.0, 4.0}) {
    ASSERT_OK_AND_ASSIGN(
        const LinearSvmResult result,
        TrainLinearSvm({features, labels, 1},
                       {.lambda = lambda, .gap_tolerance = 1e-9}));
    EXPECT_NEAR(result.weights[0], std::min(1.0, 1 / lambda), 1e-4);
  }
}

TEST(LinearSvmTest, NamesWhatIsWrong) {
  const std::vector<float> features = {1, -1};
  const std::vector<uint8_t> labels = {1, 0};
  EXPECT_THAT(TrainLinearSvm({features, labels, 2}, {}),
              IsInvalidArgument("there are 2 feature values, must be 2"));
  EXPECT_THAT(TrainLinearSvm({features, labels, 1}, {.lambda = 0}),
              IsInvalidArgument("lambda is 0, must be above 0"));
}

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
