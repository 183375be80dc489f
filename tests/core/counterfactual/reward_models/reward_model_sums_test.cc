#include "core/counterfactual/reward_models/reward_model_sums.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"
#include "tests/core/invalid.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT
using testing::HasSubstr;

constexpr RewardModelKind kFittedKinds[] = {
    RewardModelKind::kRidge, RewardModelKind::kTrees, RewardModelKind::kBest};

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
    const auto expected = IsInvalid(HasSubstr(message));
    EXPECT_THAT(sums.Fit(), expected);
    RewardModelSums whole(RewardModelKind::kRidge, 2);
    whole.Merge(sums);
    EXPECT_THAT(whole.Fit(), expected);
  }
}

}  // namespace
}  // namespace sortition
