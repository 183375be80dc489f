#include "core/counterfactual/reward_models/ridge_sums.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "Eigen/QR"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT

Eigen::MatrixXd MomentsOf(std::span<const ToyExample> examples) {
  RidgeSums sums(static_cast<Eigen::Index>(examples[0].features.size()));
  for (const ToyExample& example : examples) {
    sums.Add(example.features, example.reward, example.weight);
  }
  return sums.Moments();
}

// Σ w (t - a - b·z)², example by example.
double ErrorOf(const LinearModel& model, std::span<const ToyExample> examples) {
  double error = 0;
  for (const ToyExample& example : examples) {
    double residual = example.reward - model.intercept;
    for (size_t j = 0; j < example.features.size(); ++j) {
      residual -= model.coefficients[static_cast<Eigen::Index>(j)] *
                  example.features[j];
    }
    error += example.weight * residual * residual;
  }
  return error;
}

double StandardDeviation(std::span<const ToyExample> examples, size_t column) {
  double weight = 0;
  double mean = 0;
  double squares = 0;
  for (const ToyExample& example : examples) {
    weight += example.weight;
    mean += example.weight * example.features[column];
  }
  mean /= weight;
  for (const ToyExample& example : examples) {
    squares += example.weight * std::pow(example.features[column] - mean, 2);
  }
  return std::sqrt(squares / weight);
}

// The same problem as a least-squares problem of raw rows, solved by QR:
// √w_i (1, z_i) with target √w_i t_i, and √(λ Σw) s_j e_j with target 0.
LinearModel SolveByQr(std::span<const ToyExample> examples, double penalty) {
  const auto n = static_cast<Eigen::Index>(examples.size());
  const auto d = static_cast<Eigen::Index>(examples[0].features.size());
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(n + d, d + 1);
  Eigen::VectorXd targets = Eigen::VectorXd::Zero(n + d);
  double weight = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const ToyExample& example = examples[static_cast<size_t>(i)];
    const double root = std::sqrt(example.weight);
    rows(i, 0) = root;
    for (Eigen::Index j = 0; j < d; ++j) {
      rows(i, j + 1) = root * example.features[static_cast<size_t>(j)];
    }
    targets[i] = root * example.reward;
    weight += example.weight;
  }
  for (Eigen::Index j = 0; j < d; ++j) {
    rows(n + j, j + 1) = std::sqrt(penalty * weight) *
                         StandardDeviation(examples, static_cast<size_t>(j));
  }
  const Eigen::VectorXd solution = rows.colPivHouseholderQr().solve(targets);
  return {solution[0], solution.tail(d)};
}

TEST(RidgeSumsTest, SolvesTheRegressionOfTheRawRows) {
  // 77: not a multiple of the examples that are added at once.
  const std::vector<ToyExample> examples = LinearExamples(77, 6, 1);
  const StandardisedRidge ridge(MomentsOf(examples));
  for (const double penalty : {1e-5, 0.01, 1.0}) {
    const LinearModel expected = SolveByQr(examples, penalty);
    const LinearModel model = ridge.Solve(penalty);
    EXPECT_NEAR(model.intercept, expected.intercept, 1e-11);
    EXPECT_LT((model.coefficients - expected.coefficients).norm(), 1e-11)
        << penalty;
  }
}

TEST(RidgeSumsTest, TheErrorIsThatOfTheRawRows) {
  const std::vector<ToyExample> examples = LinearExamples(77, 6, 2);
  const Eigen::MatrixXd moments = MomentsOf(examples);
  const LinearModel model = StandardisedRidge(moments).Solve(0.1);
  EXPECT_NEAR(SquaredError(model, moments), ErrorOf(model, examples), 1e-11);
}

TEST(RidgeSumsTest, PartsMergeToTheWhole) {
  const std::vector<ToyExample> examples = LinearExamples(500, 5, 3);
  RidgeSums whole(5);
  RidgeSums parts[3] = {RidgeSums(5), RidgeSums(5), RidgeSums(5)};
  for (size_t i = 0; i < examples.size(); ++i) {
    const ToyExample& example = examples[i];
    whole.Add(example.features, example.reward, example.weight);
    parts[i % 3].Add(example.features, example.reward, example.weight);
  }
  parts[0].Merge(parts[1]);
  parts[0].Merge(parts[2]);
  const Eigen::MatrixXd expected = whole.Moments();
  const Eigen::MatrixXd merged = parts[0].Moments();
  for (Eigen::Index j = 0; j < expected.cols(); ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) {
      EXPECT_NEAR(merged(i, j), expected(i, j),
                  1e-12 * std::sqrt(expected(i, i) * expected(j, j)));
    }
  }
}

TEST(RidgeSumsTest, AnInfinitePenaltyLeavesTheMean) {
  std::vector<ToyExample> examples = LinearExamples(40, 3, 4);
  const LinearModel model = StandardisedRidge(MomentsOf(examples))
                                .Solve(std::numeric_limits<double>::infinity());
  double weight = 0;
  double sum = 0;
  for (const ToyExample& example : examples) {
    weight += example.weight;
    sum += example.weight * example.reward;
  }
  EXPECT_NEAR(model.intercept, sum / weight, 1e-14);
  EXPECT_EQ(model.coefficients.norm(), 0);
}

// A target that is 0.9 everywhere is predicted as such, whatever the penalty:
// with an intercept that is penalised it would be less.
TEST(RidgeSumsTest, TheInterceptIsNotShrunk) {
  std::vector<ToyExample> examples = LinearExamples(40, 3, 5);
  for (ToyExample& example : examples) example.reward = 0.9;
  const StandardisedRidge ridge(MomentsOf(examples));
  for (const double penalty : RidgePenalties()) {
    const LinearModel model = ridge.Solve(penalty);
    EXPECT_NEAR(model.intercept, 0.9, 1e-12);
    EXPECT_NEAR(model.coefficients.norm(), 0, 1e-12);
  }
}

// Columns that do not vary, and columns that are equal, have a solution.
TEST(RidgeSumsTest, DegenerateColumnsAreHarmless) {
  std::vector<ToyExample> examples = LinearExamples(60, 2, 6);
  for (ToyExample& example : examples) {
    example.features.push_back(3e6F);
    example.features.push_back(example.features[0]);
    example.features.push_back(0);
  }
  const LinearModel model = StandardisedRidge(MomentsOf(examples)).Solve(1e-5);
  EXPECT_EQ(model.coefficients[2], 0);
  EXPECT_EQ(model.coefficients[4], 0);
  EXPECT_NEAR(model.coefficients[0], model.coefficients[3], 1e-9);
  EXPECT_NEAR(model.coefficients[0] + model.coefficients[3], 0.1, 0.02);
}

// Fold by fold, with the definition: λ of the least error over the other folds,
// each predicted from the rest of them.
TEST(RidgeSumsTest, FoldsChooseThePenaltyWithoutTheFoldThatIsPredicted) {
  constexpr size_t kNumFolds = 4;
  const std::vector<ToyExample> examples = LinearExamples(60, 8, 7);
  std::vector<std::vector<ToyExample>> by_fold(kNumFolds);
  for (size_t i = 0; i < examples.size(); ++i) {
    by_fold[i % kNumFolds].push_back(examples[i]);
  }
  const auto without = [&](size_t a, size_t b) {
    std::vector<ToyExample> rest;
    for (size_t f = 0; f < kNumFolds; ++f) {
      if (f == a || f == b) continue;
      rest.insert(rest.end(), by_fold[f].begin(), by_fold[f].end());
    }
    return rest;
  };
  std::vector<Eigen::MatrixXd> moments;
  for (const auto& fold : by_fold) moments.push_back(MomentsOf(fold));
  const std::vector<CrossFittedRidge> fitted = FitCrossFittedRidge(moments);
  for (size_t k = 0; k < kNumFolds; ++k) {
    double best_penalty = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const double penalty : RidgePenalties()) {
      double error = 0;
      for (size_t j = 0; j < kNumFolds; ++j) {
        if (j == k) continue;
        error +=
            ErrorOf(StandardisedRidge(MomentsOf(without(j, k))).Solve(penalty),
                    by_fold[j]);
      }
      if (error < least) {
        least = error;
        best_penalty = penalty;
      }
    }
    EXPECT_EQ(fitted[k].penalty, best_penalty);
    const LinearModel expected = SolveByQr(without(k, k), best_penalty);
    EXPECT_LT((fitted[k].model.coefficients - expected.coefficients).norm(),
              1e-10);
  }
}

// Without a relation of rewards and features nothing is better than the mean,
// and with one the penalty is small. Each choice is made with 30 columns and
// 300 examples, so that coefficients of noise cost a tenth of the variance.
TEST(RidgeSumsTest, ThePenaltyFitsTheData) {
  std::vector<ToyExample> examples = LinearExamples(500, 30, 8);
  const auto fit = [&]() {
    std::vector<Eigen::MatrixXd> moments;
    for (size_t f = 0; f < 5; ++f) {
      moments.push_back(MomentsOf(std::span(examples).subspan(f * 100, 100)));
    }
    return FitCrossFittedRidge(moments);
  };
  for (const CrossFittedRidge& fold : fit()) {
    EXPECT_LE(fold.penalty, 0.1);
    // 0.02 of 0.0225 is linear.
    EXPECT_GT(fold.expected_r_squared, 0.8);
  }
  RandomSequence random(SeedKey(9));
  for (ToyExample& example : examples) example.reward = random.Uniform();
  for (const CrossFittedRidge& fold : fit()) {
    EXPECT_GE(fold.penalty, 1);
    EXPECT_GE(fold.expected_r_squared, 0);
  }
}

}  // namespace
}  // namespace sortition
