// Nothing that a unit did has a part in the model that judges it, and the order
// and division of a log have no part in any.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT

constexpr RewardModelKind kKinds[] = {
    RewardModelKind::kRidge, RewardModelKind::kTrees, RewardModelKind::kBest};

class CrossFittingTest : public testing::TestWithParam<RewardModelKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, CrossFittingTest, testing::ValuesIn(kKinds));

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

}  // namespace
}  // namespace sortition
