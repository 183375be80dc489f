#include "core/counterfactual/reward_models/boosted_trees.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
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

}  // namespace
}  // namespace sortition
