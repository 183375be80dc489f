#include "core/learners/multilabel/label_conversion.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/learners/multilabel/label_weights.h"
#include "core/learners/multilabel/labels_loss_model.h"
#include "core/learners/multilabel/labels_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;

// Two features, one of them constant. Label 0 is set where the other is
// positive, label 1 where it is not; a fifth of each is wrong.
LabelledContexts World(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  LabelledContexts data;
  data.contexts.num_features = 2;
  data.contexts.num_labels = 2;
  for (size_t i = 0; i < n; ++i) {
    const double x = random.Normal();
    data.contexts.columns.insert(data.contexts.columns.end(), {0, 1});
    data.contexts.values.insert(data.contexts.values.end(),
                                {static_cast<float>(x), 1});
    data.contexts.row_offsets.push_back(data.contexts.values.size());
    for (const bool right : {x > 0, x <= 0}) {
      data.labels.push_back(right != (random.Uniform() < 0.2) ? 1 : 0);
    }
  }
  return data;
}

std::vector<uint32_t> Rows(size_t n) {
  std::vector<uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

// Labels {1} for (x₀, x₁) = (2, 0), none for x₁ = 3.
TEST(LabelConversionTest, ContextsAreTheRowsInTheShapeAskedFor) {
  MultilabelData data;
  data.num_features = 2;
  data.num_labels = 2;
  data.columns = {0, 1, 1};
  data.values = {2, 0, 3};
  data.row_offsets = {0, 2, 3};
  data.labels = {{1}, {}};
  const LabelledContexts all =
      ToLabelledContexts(data, {.num_features = 3, .num_labels = 3});
  EXPECT_EQ(all.contexts.num_features, 4u);
  EXPECT_EQ(all.contexts.num_labels, 3u);
  EXPECT_THAT(all.contexts.row_offsets, ElementsAre(0, 2, 4));
  EXPECT_THAT(all.contexts.columns, ElementsAre(0, 3, 1, 3));
  EXPECT_THAT(all.contexts.values, ElementsAre(2, 1, 3, 1));
  EXPECT_THAT(all.labels, ElementsAre(0, 1, 0, 0, 0, 0));
  const LabelledContexts plain = ToLabelledContexts(data, {.num_features = 2,
                                                           .num_labels = 2,
                                                           .intercept = false,
                                                           .keep_zeros = true});
  EXPECT_EQ(plain.contexts.num_features, 2u);
  EXPECT_EQ(plain.contexts.columns, data.columns);
  EXPECT_EQ(plain.contexts.values, data.values);
  EXPECT_EQ(plain.contexts.row_offsets, data.row_offsets);
  EXPECT_THAT(plain.labels, ElementsAre(0, 1, 0, 0));
}

// The gradient of the penalised likelihood is 0:
//   (1/m) Σ (σ(s_l) - y*_l) x + 2μ w_l = 0.
TEST(LabelConversionTest, TheFitIsAStationaryPoint) {
  const LabelledContexts data = World(200, 1);
  constexpr double kL2 = 0.01;
  ASSERT_OK_AND_ASSIGN(
      const Eigen::VectorXd w,
      FitLabels(data, Rows(150), kL2, config::v1::LbfgsOptions()));
  for (uint32_t j = 0; j < 2; ++j) {
    for (uint32_t l = 0; l < 2; ++l) {
      double slope = 2 * kL2 * w[2 * j + l];
      for (size_t i = 0; i < 150; ++i) {
        const double* const weights = w.data();
        const double s = data.contexts.values[2 * i] * weights[l] +
                         data.contexts.values[2 * i + 1] * weights[2 + l];
        slope += (1 / (1 + std::exp(-s)) - data.labels[2 * i + l]) *
                 data.contexts.values[2 * i + j] / 150;
      }
      EXPECT_NEAR(slope, 0, 1e-4);
    }
  }
  EXPECT_GT(w[0], 0.5);
  EXPECT_LT(w[1], -0.5);
}

TEST(LabelConversionTest, PropensitiesAreTheProbabilitiesOfTheDraws) {
  const LabelledContexts data = World(60, 2);
  const Eigen::VectorXd w = Eigen::Vector4d(1, -2, 0.3, 0.1);
  const LabelTuples tuples = DrawTuples(
      data, w, {.inverse_temperature = 0.5, .replays = 3, .seed = 4});
  ASSERT_EQ(tuples.size(), 180u);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy policy,
                       LabelsPolicy::Create(data.contexts, tuples));
  for (size_t i = 0; i < tuples.size(); ++i) {
    EXPECT_EQ(tuples.contexts[i], i % 60);
    EXPECT_NEAR(policy.LogProbability(0.5 * w, i), tuples.log_propensities[i],
                1e-13);
    int wrong = 0;
    for (size_t l = 0; l < 2; ++l) {
      wrong += tuples.labels[2 * i + l] != data.labels[2 * (i % 60) + l];
    }
    EXPECT_EQ(tuples.losses[i], wrong / 2.0 - 1);
  }
}

// The mean loss of many draws is the expected one: within five standard errors
// of a mean of 40,000 losses in [0, 2].
TEST(LabelConversionTest, DrawsHaveTheExpectedLoss) {
  const LabelledContexts data = World(100, 3);
  const Eigen::VectorXd w = Eigen::Vector4d(1, -2, 0.3, 0.1);
  const LabelTuples tuples = DrawTuples(data, w, {.replays = 400, .seed = 5});
  double sum = 0;
  for (const double loss : tuples.losses) sum += 2 * (loss + 1);
  EXPECT_NEAR(sum / 40000, MeanHammingLosses(data, w).expected,
              5 * 1 / std::sqrt(40000.0));
}

TEST(LabelConversionTest, ASharpPolicyLosesWhatItsModeLoses) {
  const LabelledContexts data = World(100, 6);
  const Eigen::VectorXd w = Eigen::Vector4d(1, -2, 0.3, 0.1);
  const HammingLosses sharp = MeanHammingLosses(data, 1e6 * w);
  EXPECT_NEAR(sharp.expected, sharp.map, 1e-9);
  EXPECT_EQ(MeanHammingLosses(data, w).map, sharp.map);
  // At w = 0 each of the two labels is wrong half of the time.
  EXPECT_NEAR(MeanHammingLosses(data, Eigen::VectorXd::Zero(4)).expected, 1,
              1e-12);
}

TEST(LabelConversionTest, ASeedIsAData) {
  const LabelledContexts data = World(50, 7);
  const Eigen::VectorXd w = Eigen::Vector4d(1, -2, 0.3, 0.1);
  EXPECT_EQ(DrawTuples(data, w, {.seed = 1}).labels,
            DrawTuples(data, w, {.seed = 1}).labels);
  EXPECT_NE(DrawTuples(data, w, {.seed = 1}).labels,
            DrawTuples(data, w, {.seed = 2}).labels);
}

TEST(LabelConversionTest, NamesARowThatIsNotThere) {
  const LabelledContexts data = World(5, 8);
  const config::v1::LbfgsOptions options;
  EXPECT_THAT(FitLabels(data, {}, 0.1, options).status(),
              IsInvalidArgument("there is none"));
  const std::vector<uint32_t> rows = {1, 5};
  EXPECT_THAT(FitLabels(data, rows, 0.1, options).status(),
              IsInvalidArgument("row is 5, must be below 5"));
}

// Sixteen contexts: √16 / 2 = 2 replays of each count in full.
TEST(LabelTrainingWeightsTest, AContextIsAUnit) {
  RandomLabels labels(3, 2, 16, 16, 1);
  labels.tuples.contexts.insert(labels.tuples.contexts.end(), 4, 7);
  const std::vector<double> weights = LabelTrainingWeights(labels.tuples);
  ASSERT_EQ(weights.size(), 20);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_DOUBLE_EQ(weights[i], labels.tuples.contexts[i] == 7 ? 0.4 : 1);
  }
}

// Contexts (3, 0), (4, 2) and one that no tuple has; two labels.
TEST(LabelFeatureScalesTest, AreThoseOfTheContextsThatTuplesHave) {
  LabelContexts contexts;
  contexts.num_features = 2;
  contexts.num_labels = 2;
  contexts.columns = {0, 0, 1, 0};
  contexts.values = {3, 4, 2, 1000};
  contexts.row_offsets = {0, 1, 3, 4};
  LabelTuples tuples;
  tuples.contexts = {0, 1, 1, 0};
  const Eigen::VectorXd scales = LabelFeatureScales(contexts, tuples);
  // Three values in two rows; root mean squares √12.5 and 2.
  const double first = 1 / std::sqrt(12.5 * 1.5);
  const double second = 1 / std::sqrt(4 * 1.5);
  ASSERT_EQ(scales.size(), 4);
  for (int l = 0; l < 2; ++l) {
    EXPECT_DOUBLE_EQ(scales[l], first);
    EXPECT_DOUBLE_EQ(scales[2 + l], second);
  }
}

TEST(LabelWeightsTest, TheLossModelWeighsTuplesAsCopies) {
  RandomLabels few(4, 3, 20, 60, 2);
  RandomLabels many = few;
  for (size_t i = 0; i < 60; ++i) {
    few.tuples.weights.push_back(i % 2 == 0 ? 1 : 2);
    if (i % 2 == 0) continue;
    many.tuples.contexts.push_back(few.tuples.contexts[i]);
    many.tuples.losses.push_back(few.tuples.losses[i]);
    many.tuples.log_propensities.push_back(few.tuples.log_propensities[i]);
    for (size_t l = 0; l < 3; ++l) {
      many.tuples.labels.push_back(few.tuples.labels[3 * i + l]);
    }
  }
  const auto one = LabelsLossModel::Fit(few.contexts, few.tuples, {})->Clone();
  const auto two =
      LabelsLossModel::Fit(many.contexts, many.tuples, {})->Clone();
  ASSERT_OK_AND_ASSIGN(const auto policy,
                       LabelsPolicy::Create(few.contexts, few.tuples));
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(policy.weight(i), i % 2 == 0 ? 1 : 2);
    EXPECT_NEAR(one->LoggedLoss(i), two->LoggedLoss(i), 1e-10);
  }
}

}  // namespace
}  // namespace sortition
