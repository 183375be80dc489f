#include "core/learners/multilabel/label_weights.h"

#include <cmath>

#include "core/learners/multilabel/labels_loss_model.h"
#include "core/learners/multilabel/labels_policy.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
