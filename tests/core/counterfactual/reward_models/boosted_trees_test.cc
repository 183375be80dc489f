#include "core/counterfactual/reward_models/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/reward_models/column_hash.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT

// `examples` must outlive the result.
TreeExamples TreeExamplesOf(const std::vector<ToyExample>& examples) {
  TreeExamples result;
  for (const ToyExample& example : examples) {
    result.Add(example.features, example.reward, example.weight);
  }
  return result;
}

// A target that is a step is found as such.
TEST(RegressionTreeTest, FindsTheBestStep) {
  // 200 rows; the target is 1 above 0.3 in column 1, and column 0 says nothing.
  RandomSequence random(SeedKey(1));
  std::vector<std::vector<float>> values;
  std::vector<std::span<const float>> rows;
  for (int i = 0; i < 200; ++i) {
    values.push_back({static_cast<float>(random.Uniform()),
                      static_cast<float>(random.Uniform())});
  }
  for (const std::vector<float>& row : values) rows.emplace_back(row);
  const FeatureBins bins(rows, 2);
  std::vector<uint8_t> binned(400);
  std::vector<double> gradients;
  std::vector<uint32_t> examples;
  float edge = 0;  // The largest bin edge that is at most 0.3.
  for (size_t b = 0; b + 1 < bins.num_bins(1); ++b) {
    if (bins.edge(1, b) <= 0.3F) edge = bins.edge(1, b);
  }
  double count = 0;
  for (size_t i = 0; i < 200; ++i) {
    bins.Apply(rows[i], std::span(binned).subspan(2 * i, 2));
    gradients.push_back(rows[i][1] > edge ? 1 : 0);
    count += gradients.back();
    examples.push_back(static_cast<uint32_t>(i));
  }
  const std::vector<double> weights(200, 1);
  TreeGrower grower(bins, binned);
  const std::optional<RegressionTree> tree =
      grower.Grow(examples, gradients, weights);
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->columns[0], 1);
  EXPECT_EQ(tree->thresholds[0], edge);
  EXPECT_EQ(tree->Predict(std::vector<float>{0.5F, 0.1F}), 0);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(tree->Predict(rows[i]),
              tree->PredictBinned(std::span(binned).subspan(2 * i, 2)));
  }
  // A constant part is not split further: a second leaf's penalty only costs.
  const double leaf = count / (count + TreeGrower::kLeafPenalty);
  EXPECT_NEAR(tree->Predict(std::vector<float>{0.5F, 0.9F}), leaf, 1e-12);
}

TEST(RegressionTreeTest, NothingToSplitGivesNoTree) {
  const std::vector<std::vector<float>> values(100, {1.0F, 2.0F});
  std::vector<std::span<const float>> rows(values.begin(), values.end());
  const FeatureBins bins(rows, 2);
  const std::vector<uint8_t> binned(200);
  std::vector<uint32_t> examples(100);
  for (uint32_t i = 0; i < 100; ++i) examples[i] = i;
  const std::vector<double> ones(100, 1);
  TreeGrower grower(bins, binned);
  EXPECT_FALSE(grower.Grow(examples, ones, ones).has_value());
}

TEST(FeatureBinsTest, FewValuesHaveABinEach) {
  const std::vector<std::vector<float>> values = {{3}, {-1}, {3}, {7}};
  const std::vector<std::span<const float>> rows(values.begin(), values.end());
  const FeatureBins bins(rows, 1);
  ASSERT_EQ(bins.num_bins(0), 3);
  const auto bin_of = [&](float value) {
    uint8_t bin = 0;
    bins.Apply(std::vector<float>{value}, {&bin, 1});
    return bin;
  };
  EXPECT_EQ(bin_of(-5), 0);
  EXPECT_EQ(bin_of(-1), 0);
  EXPECT_EQ(bin_of(0), 1);
  EXPECT_EQ(bin_of(3), 1);
  EXPECT_EQ(bin_of(7), 2);
  EXPECT_EQ(bin_of(70), 2);
}

// 6400 different values: 64 bins with 100 each.
TEST(FeatureBinsTest, ManyValuesHaveBinsOfEqualSize) {
  std::vector<std::vector<float>> values;
  for (int i = 0; i < 6400; ++i) values.push_back({static_cast<float>(i)});
  const std::vector<std::span<const float>> rows(values.begin(), values.end());
  const FeatureBins bins(rows, 1);
  ASSERT_EQ(bins.num_bins(0), FeatureBins::kMaxBins);
  std::vector<int> counts(FeatureBins::kMaxBins);
  for (const auto& row : rows) {
    uint8_t bin = 0;
    bins.Apply(row, {&bin, 1});
    ++counts[bin];
  }
  for (const int count : counts) EXPECT_EQ(count, 100);
}

// Given the features the reward is 0.8 or 0.2: the variance of what can be
// known is 0.09 of 0.25, an R² of 0.36 at most.
TEST(BoostedTreesTest, LearnAnInteraction) {
  const std::vector<ToyExample> training = InteractionExamples(4000, 4, 2);
  const std::vector<ToyExample> stopping = InteractionExamples(1000, 4, 3);
  const BoostedTrees trees =
      BoostedTrees::Fit(TreeExamplesOf(training), TreeExamplesOf(stopping), 4);
  double error = 0;
  const std::vector<ToyExample> fresh = InteractionExamples(1000, 4, 4);
  for (const ToyExample& example : fresh) {
    const bool equal = (example.features[0] > 0) == (example.features[1] > 0);
    const double truth = equal ? 0.8 : 0.2;
    error += std::pow(trees.Predict(example.features) - truth, 2) / 1000;
  }
  // Of 0.09 for the mean.
  EXPECT_LT(error, 0.01);
  EXPECT_GT(trees.stopping_r_squared(), 0.25);
}

TEST(BoostedTreesTest, AreInvariantUnderIncreasingTransformations) {
  std::vector<ToyExample> training = InteractionExamples(1000, 3, 5);
  std::vector<ToyExample> stopping = InteractionExamples(300, 3, 6);
  std::vector<ToyExample> fresh = InteractionExamples(300, 3, 7);
  const BoostedTrees trees =
      BoostedTrees::Fit(TreeExamplesOf(training), TreeExamplesOf(stopping), 3);
  std::vector<double> expected;
  for (const ToyExample& example : fresh) {
    expected.push_back(trees.Predict(example.features));
  }
  // Multiplying by a power of 2 is exact. The slope of x³ + 3x is larger than
  // what rounding takes away, so that single-precision values keep their order.
  for (auto* examples : {&training, &stopping, &fresh}) {
    for (ToyExample& example : *examples) {
      example.features[0] *= 1024;
      const float x = example.features[1];
      example.features[1] = x * x * x + 3 * x;
    }
  }
  const BoostedTrees transformed =
      BoostedTrees::Fit(TreeExamplesOf(training), TreeExamplesOf(stopping), 3);
  EXPECT_GT(trees.num_trees(), 0);
  for (size_t i = 0; i < fresh.size(); ++i) {
    EXPECT_EQ(transformed.Predict(fresh[i].features), expected[i]);
  }
}

TEST(BoostedTreesTest, NoiseLeavesTheMeanOrNextToIt) {
  std::vector<ToyExample> training = InteractionExamples(1000, 5, 8);
  std::vector<ToyExample> stopping = InteractionExamples(300, 5, 9);
  RandomSequence random(SeedKey(10));
  for (auto* examples : {&training, &stopping}) {
    for (ToyExample& example : *examples) example.reward = random.Uniform();
  }
  const BoostedTrees trees =
      BoostedTrees::Fit(TreeExamplesOf(training), TreeExamplesOf(stopping), 5);
  EXPECT_LT(trees.num_trees(), 20);
  EXPECT_LT(trees.stopping_r_squared(), 0.05);
}

// The error on `stopping` that is reported is that of the predictions, so that
// no tree was kept beyond those with the least.
TEST(BoostedTreesTest, KeepTheTreesOfTheLeastError) {
  const std::vector<ToyExample> training = InteractionExamples(1000, 4, 11);
  const std::vector<ToyExample> stopping = InteractionExamples(300, 4, 12);
  const TreeExamples examples = TreeExamplesOf(training);
  const BoostedTrees trees =
      BoostedTrees::Fit(examples, TreeExamplesOf(stopping), 4);
  double mean = 0;
  for (const double target : examples.targets) mean += target / 1000;
  double error = 0;
  double constant_error = 0;
  for (const ToyExample& example : stopping) {
    error += std::pow(example.reward - trees.Predict(example.features), 2);
    constant_error += std::pow(example.reward - mean, 2);
  }
  EXPECT_LT(trees.num_trees(), BoostedTrees::kMaxTrees);
  EXPECT_NEAR(trees.stopping_r_squared(), 1 - error / constant_error, 1e-9);
}

// Weights of examples count as copies do: 3 examples of one kind, or one of
// weight 3, lead to the same mean where nothing can be split.
TEST(BoostedTreesTest, WeightsCountAsCopies) {
  TreeExamples examples;
  const std::vector<float> row = {0};
  examples.Add(row, 1, 3);
  examples.Add(row, 0, 1);
  const BoostedTrees trees = BoostedTrees::Fit(examples, {}, 1);
  EXPECT_EQ(trees.Predict(row), 0.75);
}

TEST(BoostedTreesTest, NothingToLearnFromGivesZero) {
  const BoostedTrees trees = BoostedTrees::Fit({}, {}, 2);
  EXPECT_EQ(trees.Predict(std::vector<float>{1, 2}), 0);
}

TEST(ColumnHashTest, RowsThatAreNotWideStayAsTheyAre) {
  const ColumnHash hash(kMaxDirectColumns);
  EXPECT_TRUE(hash.is_identity());
  EXPECT_EQ(hash.num_columns(), kMaxDirectColumns);
  const std::vector<float> row(kMaxDirectColumns, 2.0F);
  EXPECT_EQ(hash.Apply(row, {}).data(), row.data());
  const std::vector<double> coefficients(kMaxDirectColumns, 0.5);
  EXPECT_EQ(hash.Expand(coefficients), coefficients);
}

TEST(ColumnHashTest, ALinearModelPredictsTheSameFromBoth) {
  constexpr uint32_t kFeatures = 3000;
  RandomSequence random(SeedKey(1));
  std::vector<float> row(kFeatures);
  for (float& feature : row) feature = static_cast<float>(random.Normal());
  std::vector<double> coefficients(kHashedColumns);
  for (double& coefficient : coefficients) coefficient = random.Normal();
  const ColumnHash hash(kFeatures);
  std::vector<float> hashed(kHashedColumns);
  hash.Apply(row, hashed);
  double of_columns = 0;
  for (size_t k = 0; k < hashed.size(); ++k) {
    of_columns += coefficients[k] * hashed[k];
  }
  const std::vector<double> expanded = hash.Expand(coefficients);
  ASSERT_EQ(expanded.size(), kFeatures);
  double of_features = 0;
  for (size_t j = 0; j < row.size(); ++j) of_features += expanded[j] * row[j];
  // Columns are sums in single precision.
  EXPECT_NEAR(of_features, of_columns, 1e-3);
}

// The square of a row of 400 ones is 400. Hashed, each pair of them that shares
// a column adds 2 or -2: 79,800 / 512 = 156 pairs. The sum of their signs is
// beyond 62 = 5 standard errors with probability 6e-7; without signs it is 156.
TEST(ColumnHashTest, SignsKeepProductsRightOnAverage) {
  const ColumnHash hash(2000);
  std::vector<float> row(2000);
  for (size_t j = 0; j < 400; ++j) row[5 * j] = 1;
  std::vector<float> hashed(kHashedColumns);
  hash.Apply(row, hashed);
  double square = 0;
  for (const float value : hashed) square += value * value;
  EXPECT_LT(std::abs(square - 400) / 2, 62);
}

// Nothing that a unit did has a part in the model that judges it, and the order
// and division of a log have no part in any.

class CrossFittingTest : public testing::TestWithParam<RewardModelKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CrossFittingTest,
                         testing::ValuesIn(kFittedKinds));

// Both kinds of structure, so that trees are grown and penalties chosen.
std::vector<ToyExample> Examples(uint64_t seed) {
  std::vector<ToyExample> examples = InteractionExamples(1500, 4, seed);
  for (size_t i = 0; i < examples.size(); ++i) {
    ToyExample& example = examples[i];
    example.unit_hash = UnitKey(std::to_string(i / 5), "");
    example.reward = std::clamp(
        0.6 * example.reward + 0.2 * example.features[2] + 0.2, 0.0, 1.0);
    example.abstained = i % 11 == 0;
  }
  return examples;
}

TEST_P(CrossFittingTest, AUnitHasNoPartInItsOwnModel) {
  std::vector<ToyExample> examples = Examples(1);
  const CrossFittedModel before = FitTo(examples, GetParam());
  const uint64_t unit = examples[700].unit_hash;
  const std::vector<float> features = examples[700].features;
  const uint32_t fold = FoldOf(unit, 5);
  size_t changed = 0;
  // Rewards, actions and their number.
  for (size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].unit_hash != unit) continue;
    ++changed;
    examples[i].reward = 1 - examples[i].reward;
    for (float& feature : examples[i].features) feature *= -7;
  }
  ASSERT_EQ(changed, 5);
  examples.push_back(examples[700]);
  const CrossFittedModel after = FitTo(examples, GetParam());
  EXPECT_EQ(after.For(unit).Predict(features),
            before.For(unit).Predict(features));
  EXPECT_EQ(after.For(unit).abstain_reward(),
            before.For(unit).abstain_reward());
  EXPECT_NE(after.OfFold((fold + 1) % 5).Predict(features),
            before.OfFold((fold + 1) % 5).Predict(features));
}

// Removing the fold altogether leaves its model as it is: it is that of the
// other folds.
TEST_P(CrossFittingTest, TheModelOfAFoldIsThatOfTheOthers) {
  const std::vector<ToyExample> examples = Examples(2);
  const CrossFittedModel all = FitTo(examples, GetParam());
  for (uint32_t fold = 0; fold < 5; ++fold) {
    std::vector<ToyExample> others;
    for (const ToyExample& example : examples) {
      if (FoldOf(example.unit_hash, 5) != fold) others.push_back(example);
    }
    const CrossFittedModel without = FitTo(others, GetParam());
    for (size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(all.OfFold(fold).Predict(examples[i].features),
                without.OfFold(fold).Predict(examples[i].features));
    }
  }
}

TEST_P(CrossFittingTest, PartsInAnyOrderMergeToTheWhole) {
  const std::vector<ToyExample> examples = Examples(3);
  RewardModelSums whole(GetParam(), 4);
  RewardModelSums parts[3] = {RewardModelSums(GetParam(), 4),
                              RewardModelSums(GetParam(), 4),
                              RewardModelSums(GetParam(), 4)};
  for (size_t i = 0; i < examples.size(); ++i) {
    whole.Add(examples[i].View());
    parts[i % 3].Add(examples[examples.size() - 1 - i].View());
  }
  parts[2].Merge(parts[0]);
  parts[2].Merge(parts[1]);
  const CrossFittedModel expected = *whole.Fit();
  const CrossFittedModel merged = *parts[2].Fit();
  for (uint32_t fold = 0; fold < 5; ++fold) {
    const RewardModel& a = expected.OfFold(fold);
    const RewardModel& b = merged.OfFold(fold);
    EXPECT_NEAR(a.abstain_reward(), b.abstain_reward(), 1e-14);
    EXPECT_NEAR(expected.errors()[fold].squared_error,
                merged.errors()[fold].squared_error, 1e-10);
    for (size_t i = 0; i < 100; ++i) {
      const double predicted = a.Predict(examples[i].features);
      if (GetParam() == RewardModelKind::kTrees) {
        EXPECT_EQ(b.Predict(examples[i].features), predicted);
      } else {
        EXPECT_NEAR(b.Predict(examples[i].features), predicted, 1e-12);
      }
    }
  }
}

// Doubly robust estimates with models of other units, and of the same units.

// Ten contexts with four actions each. The features of an action in a context
// are an indicator of both: nothing of one action carries over to another. One
// action of each context, another for each, earns 0.9, the others 0.2. The log
// chooses the good one with probability 0.1, the policy with 0.85.
constexpr size_t kContexts = 10;
constexpr size_t kActions = 4;
constexpr double kValue = 0.85 * 0.9 + 0.15 * 0.2;

size_t GoodAction(size_t context) { return context * 7 % kActions; }
double Logging(bool good) { return good ? 0.1 : 0.3; }
double Policy(bool good) { return good ? 0.85 : 0.05; }
double Reward(bool good) { return good ? 0.9 : 0.2; }

std::vector<float> FeaturesOf(size_t context, size_t action) {
  std::vector<float> features(kContexts * kActions);
  features[context * kActions + action] = 1;
  return features;
}

struct LoggedDecision {
  ToyExample example;
  size_t context = 0;
  bool good = false;
};

std::vector<LoggedDecision> DrawLog(size_t size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<LoggedDecision> log(size);
  for (size_t i = 0; i < size; ++i) {
    LoggedDecision& decision = log[i];
    decision.context = random.Below(kContexts);
    decision.good = random.Uniform() < Logging(true);
    const size_t action =
        decision.good
            ? GoodAction(decision.context)
            : (GoodAction(decision.context) + 1 + random.Below(kActions - 1)) %
                  kActions;
    decision.example.features = FeaturesOf(decision.context, action);
    decision.example.reward = Reward(decision.good);
    decision.example.unit_hash = UnitKey(std::to_string(i), "");
  }
  return log;
}

std::vector<ToyExample> ExamplesOf(const std::vector<LoggedDecision>& log) {
  std::vector<ToyExample> examples;
  for (const LoggedDecision& decision : log) {
    examples.push_back(decision.example);
  }
  return examples;
}

// The estimate where unit u is judged by the model of fold (FoldOf(u) + shift):
// shift 0 is a model of other units, shift 1 one that has seen u's rewards.
double DoublyRobust(const std::vector<LoggedDecision>& log,
                    const CrossFittedModel& model, uint32_t shift) {
  double sum = 0;
  for (const LoggedDecision& decision : log) {
    const uint32_t folds = model.num_folds();
    const RewardModel& judge = model.OfFold(
        (FoldOf(decision.example.unit_hash, folds) + shift) % folds);
    for (size_t a = 0; a < kActions; ++a) {
      sum += Policy(a == GoodAction(decision.context)) *
             judge.Predict(FeaturesOf(decision.context, a));
    }
    sum += Policy(decision.good) / Logging(decision.good) *
           (decision.example.reward - judge.Predict(decision.example.features));
  }
  return sum / static_cast<double>(log.size());
}

struct Errors {
  double mean = 0;
  double standard_error = 0;
};

Errors ErrorsOver(size_t num_logs, uint32_t shift) {
  double sum = 0;
  double squares = 0;
  for (uint64_t seed = 0; seed < num_logs; ++seed) {
    const std::vector<LoggedDecision> log = DrawLog(120, seed);
    const double error =
        DoublyRobust(log, FitTo(ExamplesOf(log), RewardModelKind::kRidge),
                     shift) -
        kValue;
    sum += error;
    squares += error * error;
  }
  const double n = static_cast<double>(num_logs);
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / (n - 1))};
}

// With 120 decisions a context has 1.2 with its good action, so three of ten
// have none, in which a model knows nothing of it. A model of the same units
// leaves no residual on those that it has seen, and nothing corrects the rest:
// its error is some 0.3 · 0.85 · 0.6 below. The mean error of an unbiased
// estimate is beyond 4 standard errors with probability 6e-5.
TEST(DoublyRobustTest, IsUnbiasedWithModelsOfOtherUnitsOnly) {
  const Errors cross_fitted = ErrorsOver(200, 0);
  EXPECT_LT(std::fabs(cross_fitted.mean), 4 * cross_fitted.standard_error);
  EXPECT_LT(cross_fitted.standard_error, 0.02);
  const Errors in_sample = ErrorsOver(200, 1);
  EXPECT_LT(in_sample.mean, -10 * in_sample.standard_error);
  EXPECT_LT(in_sample.mean, -0.05);
}

// The model takes away variance where it is good: rewards that depend on the
// context through features, judged in 40 logs.
TEST(DoublyRobustTest, AGoodModelTakesAwayVariance) {
  double squares_without = 0;
  double squares_with = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<LoggedDecision> log = DrawLog(2000, 1000 + seed);
    const auto error = [&](RewardModelKind kind) {
      return DoublyRobust(log, FitTo(ExamplesOf(log), kind), 0) - kValue;
    };
    squares_without += std::pow(error(RewardModelKind::kNone), 2);
    squares_with += std::pow(error(RewardModelKind::kRidge), 2);
  }
  EXPECT_LT(squares_with, 0.1 * squares_without);
}

}  // namespace
}  // namespace sortition
