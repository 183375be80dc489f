#include "core/counterfactual/reward_models/ridge_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "Eigen/QR"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/reward_models/example_sample.h"
#include "core/counterfactual/reward_models/reward_model.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"

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

constexpr uint32_t kFolds = 5;

// p-value of the hypothesis that folds of units and `part`, which is one of
// `shares.size()` parts with these shares, are independent.
template <typename Part>
double IndependenceOfFolds(const std::vector<double>& shares,
                           const Part& part) {
  std::vector<uint64_t> counts(kFolds * shares.size());
  std::vector<double> probabilities(counts.size());
  for (int i = 0; i < 100'000; ++i) {
    const std::string id = std::to_string(i);
    ++counts[FoldOf(UnitKey(id, ""), kFolds) * shares.size() + part(id)];
  }
  for (size_t k = 0; k < counts.size(); ++k) {
    probabilities[k] = shares[k % shares.size()] / kFolds;
  }
  return ChiSquarePValue(counts, probabilities);
}

// Each p-value is below 1e-4 with probability 1e-4.
TEST(FoldOfTest, IsIndependentOfOtherUsesOfUnits) {
  const auto group = [](const std::string& id) { return UnitKey(id, "") % 16; };
  EXPECT_GT(IndependenceOfFolds(std::vector<double>(16, 1.0 / 16), group),
            1e-4);
  const auto part_of_log = [](const std::string& id) -> size_t {
    return UnitInterval(StableHash(HashDomain::kSplit, {id})) < 0.25 ? 0 : 1;
  };
  EXPECT_GT(IndependenceOfFolds({0.25, 0.75}, part_of_log), 1e-4);
  const auto set_aside = [](const std::string& id) -> size_t {
    return SetAsideNumber(UnitKey(id, "")) < 0.2 ? 0 : 1;
  };
  EXPECT_GT(IndependenceOfFolds({0.2, 0.8}, set_aside), 1e-4);
}

TEST(MoreRobustWeightTest, IsTheFormula) {
  constexpr double kImpossible = -std::numeric_limits<double>::infinity();
  // 0.5 · 0.75 / 0.0625 = 6
  EXPECT_NEAR(MoreRobustWeight(std::log(0.25), std::log(0.5)), 6, 1e-12);
  // Without choice the model cancels; an action that the policy never chooses
  // is not corrected.
  EXPECT_EQ(MoreRobustWeight(0, std::log(0.5)), 0);
  EXPECT_EQ(MoreRobustWeight(std::log(0.5), kImpossible), 0);
  EXPECT_EQ(MoreRobustWeight(0, kImpossible), 0);
  // Finite for the smallest propensities.
  EXPECT_NEAR(std::log(MoreRobustWeight(-80, -1)), 159, 1e-9);
  EXPECT_EQ(std::log(MoreRobustWeight(-700, 0)), 200);
}

// Enumerates actions with errors e of a model: the expectation of weight · e²
// bounds the part of the variance that depends on the model.
TEST(MoreRobustWeightTest, BoundsTheVarianceOfTheDoublyRobustEstimate) {
  constexpr size_t kNumActions = 4;
  constexpr double kLogging[kNumActions] = {0.4, 0.3, 0.2, 0.1};
  constexpr double kErrors[kNumActions] = {0.3, -0.2, 0.1, -0.4};
  const double policies[][kNumActions] = {
      {0.1, 0.1, 0.2, 0.6}, {0.25, 0.25, 0.25, 0.25}, {0, 0, 0, 1}};
  for (const auto& policy : policies) {
    double second = 0;
    double mean = 0;
    double objective = 0;
    for (size_t a = 0; a < kNumActions; ++a) {
      const double term = policy[a] / kLogging[a] * kErrors[a];
      mean += kLogging[a] * term;
      second += kLogging[a] * term * term;
      objective +=
          kLogging[a] *
          MoreRobustWeight(std::log(kLogging[a]), std::log(policy[a])) *
          kErrors[a] * kErrors[a];
    }
    const double variance = second - mean * mean;
    EXPECT_LE(variance, objective + 1e-12);
    const bool is_deterministic = policy[3] == 1;
    if (is_deterministic) {
      EXPECT_NEAR(variance, objective, 1e-12);
    }
  }
}

TEST(RewardModelSumsTest, RidgeDoesNotDependOnUnitsAndOriginsOfFeatures) {
  std::vector<ToyExample> examples = LinearExamples(400, 5, 1);
  const CrossFittedModel plain = FitTo(examples, RewardModelKind::kRidge);
  std::vector<ToyExample> scaled = examples;
  for (ToyExample& example : scaled) {
    example.features[0] *= 1e6F;
    example.features[1] *= 1e-6F;
    example.features[2] += 100;
  }
  const CrossFittedModel other = FitTo(scaled, RewardModelKind::kRidge);
  for (size_t i = 0; i < examples.size(); ++i) {
    const uint64_t unit = examples[i].unit_hash;
    // Features are single precision.
    EXPECT_NEAR(other.For(unit).Predict(scaled[i].features),
                plain.For(unit).Predict(examples[i].features), 1e-5);
  }
}

// 0.02 of the variance 0.0225 is linear; nothing of an interaction is.
TEST(RewardModelSumsTest, HeldOutErrorsSayHowGoodTheModelIs) {
  const CrossFittedModel linear =
      FitTo(LinearExamples(2000, 4, 2), RewardModelKind::kRidge);
  EXPECT_NEAR(linear.TotalError().r_squared(), 0.02 / 0.0225, 0.03);
  EXPECT_EQ(linear.TotalError().kind, RewardModelKind::kRidge);
  EXPECT_EQ(linear.errors().size(), 5);
  const std::vector<ToyExample> examples = InteractionExamples(3000, 4, 3);
  EXPECT_NEAR(FitTo(examples, RewardModelKind::kRidge).TotalError().r_squared(),
              0, 0.01);
  // At most 0.36.
  const HeldOutError trees =
      FitTo(examples, RewardModelKind::kTrees).TotalError();
  EXPECT_GT(trees.r_squared(), 0.25);
  EXPECT_LT(trees.r_squared(), 0.42);
}

TEST(RewardModelSumsTest, HeldOutErrorsAreThoseOfTheExamples) {
  const std::vector<ToyExample> examples = LinearExamples(600, 4, 4);
  for (const RewardModelKind kind :
       {RewardModelKind::kRidge, RewardModelKind::kTrees}) {
    const CrossFittedModel model = FitTo(examples, kind);
    double weight = 0;
    double error = 0;
    for (const ToyExample& example : examples) {
      const double residual =
          example.reward -
          model.For(example.unit_hash).Predict(example.features);
      weight += example.weight;
      error += example.weight * residual * residual;
    }
    EXPECT_NEAR(model.TotalError().weight, weight, 1e-9);
    // Predictions of ridge are hardly ever clipped here.
    EXPECT_NEAR(model.TotalError().squared_error, error, 0.001 * error);
  }
}

TEST(RewardModelSumsTest, TheBestKindIsThatWithLessErrorElsewhere) {
  EXPECT_EQ(FitTo(LinearExamples(1000, 4, 5), RewardModelKind::kBest)
                .TotalError()
                .kind,
            RewardModelKind::kRidge);
  EXPECT_EQ(FitTo(InteractionExamples(3000, 4, 6), RewardModelKind::kBest)
                .TotalError()
                .kind,
            RewardModelKind::kTrees);
}

// Rewards at 0 and 1, at the ends of a wide feature: a line passes beyond both.
TEST(RewardModelSumsTest, PredictionsAreInTheRangeOfRewards) {
  std::vector<ToyExample> examples = LinearExamples(500, 1, 7);
  for (ToyExample& example : examples) {
    example.reward = example.features[0] > 0 ? 1 : 0;
  }
  for (const RewardModelKind kind : kFittedKinds) {
    const CrossFittedModel model = FitTo(examples, kind);
    for (const float x : {-1000.0F, -1.0F, 0.0F, 1.0F, 1000.0F}) {
      const double predicted = model.OfFold(0).Predict(std::vector<float>{x});
      EXPECT_GE(predicted, 0);
      EXPECT_LE(predicted, 1);
    }
  }
}

TEST(RewardModelSumsTest, AbstainingEarnsWhatItEarnedInOtherFolds) {
  std::vector<ToyExample> examples = LinearExamples(300, 2, 8);
  for (size_t i = 0; i < examples.size(); i += 3) examples[i].abstained = true;
  const CrossFittedModel model = FitTo(examples, RewardModelKind::kRidge);
  for (uint32_t fold = 0; fold < 5; ++fold) {
    double weight = 0;
    double sum = 0;
    for (const ToyExample& example : examples) {
      if (!example.abstained || FoldOf(example.unit_hash, 5) == fold) continue;
      weight += example.weight;
      sum += example.weight * example.reward;
    }
    EXPECT_NEAR(model.OfFold(fold).abstain_reward(), sum / weight, 1e-14);
  }
}

TEST(RewardModelSumsTest, ActionsThatWereNeverSeenEarnTheMeanOfAll) {
  std::vector<ToyExample> examples = LinearExamples(300, 2, 9);
  for (ToyExample& example : examples) {
    example.reward = 0.25;
    example.abstained = true;
  }
  for (const RewardModelKind kind : kFittedKinds) {
    const CrossFittedModel model = FitTo(examples, kind);
    EXPECT_NEAR(model.OfFold(1).Predict(std::vector<float>{3, 4}), 0.25, 1e-12);
  }
  for (ToyExample& example : examples) example.abstained = false;
  for (const RewardModelKind kind : kFittedKinds) {
    EXPECT_NEAR(FitTo(examples, kind).OfFold(1).abstain_reward(), 0.25, 1e-12);
  }
}

// The fold of the only unit has nothing to learn from; the others have it.
TEST(RewardModelSumsTest, OneUnitGivesDefinedModels) {
  std::vector<ToyExample> examples = LinearExamples(10, 2, 10);
  for (ToyExample& example : examples) {
    example.unit_hash = 77;
    example.reward = 0.5;
  }
  const uint32_t fold = FoldOf(77, 5);
  const std::vector<float> features = {1, 2};
  for (const RewardModelKind kind : kFittedKinds) {
    const CrossFittedModel model = FitTo(examples, kind);
    EXPECT_EQ(model.For(77).Predict(features), 0);
    EXPECT_EQ(model.For(77).abstain_reward(), 0);
    EXPECT_NEAR(model.OfFold((fold + 1) % 5).Predict(features), 0.5, 1e-12);
  }
}

TEST(RewardModelSumsTest, NoExamplesAndNoFeaturesGiveDefinedModels) {
  for (const RewardModelKind kind : kFittedKinds) {
    const CrossFittedModel empty = FitTo({}, kind);
    EXPECT_EQ(empty.OfFold(0).Predict({}), 0);
    EXPECT_EQ(empty.TotalError().r_squared(), 0);
    std::vector<ToyExample> examples(100);
    for (size_t i = 0; i < examples.size(); ++i) {
      examples[i].unit_hash = UnitKey(std::to_string(i), "");
      examples[i].reward = 0.75;
    }
    EXPECT_EQ(FitTo(examples, kind).OfFold(0).Predict({}), 0.75);
  }
}

// More-robust weights are 0 where there was no choice.
TEST(RewardModelSumsTest, WeightsOfZeroAddNothing) {
  std::vector<ToyExample> examples = LinearExamples(300, 2, 11);
  std::vector<ToyExample> more = examples;
  for (const ToyExample& example : LinearExamples(300, 2, 12)) {
    more.push_back(example);
    more.back().weight = 0;
  }
  for (const RewardModelKind kind : kFittedKinds) {
    const CrossFittedModel expected = FitTo(examples, kind);
    const CrossFittedModel model = FitTo(more, kind);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(model.OfFold(2).Predict(examples[i].features),
                expected.OfFold(2).Predict(examples[i].features));
    }
  }
}

TEST(RewardModelSumsTest, WithoutModelEverythingIsZero) {
  const CrossFittedModel model =
      FitTo(LinearExamples(100, 2, 13), RewardModelKind::kNone);
  EXPECT_EQ(model.OfFold(3).Predict(std::vector<float>{1, 2}), 0);
  EXPECT_EQ(model.OfFold(3).abstain_reward(), 0);
  EXPECT_EQ(model.TotalError().kind, RewardModelKind::kNone);
}

// 2000 features, of which two matter and 50 are not 0.
TEST(RewardModelSumsTest, WideRowsAreHashed) {
  std::vector<ToyExample> examples = LinearExamples(3000, 50, 14);
  for (ToyExample& example : examples) {
    std::vector<float> wide(2000);
    for (size_t j = 0; j < 50; ++j) wide[37 * j] = example.features[j];
    example.features = wide;
  }
  const CrossFittedModel model = FitTo(examples, RewardModelKind::kRidge);
  // 0.89 without what columns share.
  EXPECT_GT(model.TotalError().r_squared(), 0.7);
  const CrossFittedModel trees = FitTo(examples, RewardModelKind::kTrees);
  EXPECT_GT(trees.TotalError().r_squared(), 0.6);
}

TEST(RewardModelSumsTest, WrongExamplesAreAnErrorThatNamesThem) {
  const std::vector<float> features = {1,
                                       std::numeric_limits<float>::infinity()};
  const std::vector<float> good = {1, 2};
  const std::pair<RewardExample, const char*> cases[] = {
      {{.features = features, .reward = 0.5},
       "features[1] is inf, must be finite"},
      {{.features = good, .reward = 1.5}, "reward is 1.5, must be in [0, 1]"},
      {{.features = good, .reward = std::nan("")}, "must be in [0, 1]"},
      {{.features = good, .reward = 0.5, .weight = -1},
       "weight is -1, must be finite and not negative"},
  };
  for (const auto& [example, message] : cases) {
    RewardModelSums sums(RewardModelKind::kRidge, 2);
    sums.Add(example);
    const auto expected = IsInvalidArgument(message);
    EXPECT_THAT(sums.Fit(), expected);
    RewardModelSums whole(RewardModelKind::kRidge, 2);
    whole.Merge(sums);
    EXPECT_THAT(whole.Fit(), expected);
  }
}

constexpr size_t kMost = 50;

// What a sample holds: unit, reward, weight, features, in the order of keys.
std::vector<std::vector<double>> ContentsOf(const ExampleSample& sample) {
  std::vector<SampledExample> examples(sample.examples().begin(),
                                       sample.examples().end());
  std::sort(examples.begin(), examples.end(), &ExampleSample::Before);
  std::vector<std::vector<double>> contents;
  for (const SampledExample& example : examples) {
    contents.push_back({static_cast<double>(example.unit_hash), example.reward,
                        example.weight});
    for (const float feature : sample.RowOf(example)) {
      contents.back().push_back(feature);
    }
  }
  return contents;
}

void AddTo(const ToyExample& example, ExampleSample* sample) {
  sample->Add(example.features, example.unit_hash, example.reward,
              example.weight);
}

TEST(ExampleSampleTest, DoesNotDependOnOrderOrParts) {
  const std::vector<ToyExample> examples = LinearExamples(1000, 3, 1);
  ExampleSample forwards(3, kMost);
  ExampleSample backwards(3, kMost);
  ExampleSample parts[2] = {{3, kMost}, {3, kMost}};
  for (size_t i = 0; i < examples.size(); ++i) {
    AddTo(examples[i], &forwards);
    AddTo(examples[examples.size() - 1 - i], &backwards);
    AddTo(examples[i], &parts[i % 3 == 0 ? 0 : 1]);
  }
  parts[1].Merge(parts[0]);
  EXPECT_EQ(forwards.examples().size(), kMost);
  EXPECT_EQ(ContentsOf(backwards), ContentsOf(forwards));
  EXPECT_EQ(ContentsOf(parts[1]), ContentsOf(forwards));
  EXPECT_EQ(parts[1].num_seen(), 1000);
}

TEST(ExampleSampleTest, KeepsAllWhereTheyFit) {
  const std::vector<ToyExample> examples = LinearExamples(kMost, 3, 2);
  ExampleSample sample(3, kMost);
  for (const ToyExample& example : examples) AddTo(example, &sample);
  EXPECT_EQ(sample.examples().size(), kMost);
  double sum = 0;
  for (const SampledExample& example : sample.examples()) {
    sum += example.reward;
  }
  for (const ToyExample& example : examples) sum -= example.reward;
  EXPECT_NEAR(sum, 0, 1e-12);
}

// The sample mean of 20,000 examples with standard deviation 0.15 has an error
// of 0.15 / √4000; 4 of them are passed with probability 6e-5.
TEST(ExampleSampleTest, IsAFairSample) {
  const std::vector<ToyExample> examples = LinearExamples(20'000, 2, 3);
  ExampleSample sample(2, 4000);
  double mean = 0;
  for (const ToyExample& example : examples) {
    AddTo(example, &sample);
    mean += example.reward / 20'000;
  }
  double sampled = 0;
  for (const SampledExample& example : sample.examples()) {
    sampled += example.reward / 4000;
  }
  EXPECT_NEAR(sampled, mean, 4 * 0.15 / std::sqrt(4000));
}

}  // namespace
}  // namespace sortition
