#include "core/learners/classes/linear_svm.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there are 2 feature values, must be 2")));
  EXPECT_THAT(TrainLinearSvm({features, labels, 1}, {.lambda = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("lambda is 0, must be above 0")));
}

}  // namespace
}  // namespace sortition
