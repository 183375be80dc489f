// Loss models that are corrected with tuples that they have not seen.
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/multilabel/labels_loss_model.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

std::vector<double> LossesOf(const std::vector<BanditTuple>& tuples) {
  std::vector<double> losses;
  for (const BanditTuple& tuple : tuples) losses.push_back(tuple.loss);
  return losses;
}

TEST(CrossFitTest, WhatIsSaidOfACandidateDoesNotComeFromItsUnit) {
  const LinearFamily family{ActionKind::kSelect, 4, true, 0};
  std::vector<BanditTuple> tuples = RandomTuples(family, 60, 1);
  // Ten units of six decisions.
  for (size_t i = 0; i < 60; ++i) {
    tuples[i].unit = UnitKey(std::to_string(i % 10), "");
  }
  for (const uint32_t folds : {1u, 3u}) {
    const LossModelFit fit = {.folds = folds};
    ASSERT_OK_AND_ASSIGN(
        const auto before,
        CandidateLossModel::Fit(family, tuples, LossesOf(tuples), fit));
    std::vector<double> losses = LossesOf(tuples);
    for (size_t i = 4; i < 60; i += 10) losses[i] = -1 - losses[i];
    ASSERT_OK_AND_ASSIGN(const auto after,
                         CandidateLossModel::Fit(family, tuples, losses, fit));
    std::set<uint64_t> unchanged;
    for (size_t i = 0; i < 60; ++i) {
      if (after.LoggedLoss(i) == before.LoggedLoss(i)) {
        unchanged.insert(tuples[i].unit);
      }
    }
    // The others of its fold do not change either.
    EXPECT_EQ(unchanged.contains(tuples[4].unit), folds > 1);
    EXPECT_LT(unchanged.size(), 10);
  }
}

TEST(CrossFitTest, WhatIsSaidOfLabelsDoesNotComeFromTheirContext) {
  RandomLabels labels(5, 3, 10, 60, 2);
  for (const uint32_t folds : {1u, 3u}) {
    const LossModelFit fit = {.folds = folds};
    const auto before =
        LabelsLossModel::Fit(labels.contexts, labels.tuples, fit)->Clone();
    LabelTuples changed = labels.tuples;
    for (size_t i = 4; i < 60; i += 10)
      changed.losses[i] = -1 - changed.losses[i];
    const auto after =
        LabelsLossModel::Fit(labels.contexts, changed, fit)->Clone();
    EXPECT_EQ(after->LoggedLoss(4) == before->LoggedLoss(4), folds > 1);
    EXPECT_NE(after->LoggedLoss(5), before->LoggedLoss(5));
  }
}

// Three candidates, one of each kind -1, 0 and 1, which is the first feature;
// the other features are noise. The loss is -1 for the kinds -1 and 1, and 0
// for 0, which no line through the kind can tell. The policy nearly always
// takes the kind 1: its risk is -1.
class Kinds {
 public:
  static constexpr uint32_t kFeatures = 120;
  static LinearFamily Family() {
    return {ActionKind::kSelect, kFeatures, false, 0};
  }

  explicit Kinds(uint64_t seed) : tuples_(200) {
    RandomSequence random(SeedKey(seed));
    for (size_t i = 0; i < tuples_.size(); ++i) {
      BanditTuple& tuple = tuples_[i];
      tuple.num_features = kFeatures;
      tuple.unit = UnitKey("", std::to_string(i));
      for (int kind = -1; kind <= 1; ++kind) {
        tuple.values.push_back(static_cast<float>(kind));
        for (uint32_t j = 1; j < kFeatures; ++j) {
          tuple.values.push_back(static_cast<float>(random.Normal()));
        }
      }
      tuple.action = {static_cast<int32_t>(random.Below(3))};
      tuple.log_propensity = -std::log(3.0);
      tuple.loss = tuple.action[0] == 1 ? 0 : -1;
    }
  }

  // Returns the doubly robust estimate of the policy's risk.
  double Estimate(uint32_t folds) const {
    auto policy = *LinearTuplePolicy::Create(Family(), tuples_);
    auto model = *CandidateLossModel::Fit(Family(), tuples_, LossesOf(tuples_),
                                          {.folds = folds});
    WeightedTerms terms =
        *WeightedTerms::Create(&policy, ClippedTerm(HUGE_VAL), &model);
    Eigen::VectorXd parameters = Eigen::VectorXd::Zero(kFeatures);
    parameters[0] = 30;
    Moments moments;
    moments.Add(AllValues(parameters, &terms));
    return moments.mean();
  }

 private:
  std::vector<BanditTuple> tuples_;
};

// A model that has seen the tuples knows their losses and corrects nothing,
// while for the action that was not logged it knows the mean loss at best: the
// estimate is drawn to -2/3. Without the tuple's own unit there is no bias.
TEST(CrossFitTest, RemovesTheBiasOfAModelThatHasSeenItsTuples) {
  Moments in_sample, cross_fitted;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Kinds kinds(seed);
    in_sample.Add(kinds.Estimate(1));
    cross_fitted.Add(kinds.Estimate(5));
  }
  EXPECT_GT(in_sample.mean(), -0.95);
  // Four standard errors: fails by chance with a probability of 6e-5.
  EXPECT_NEAR(cross_fitted.mean(), -1,
              4 * std::sqrt(cross_fitted.variance() / 40));
  EXPECT_LT(std::sqrt(cross_fitted.variance() / 40), 0.02);
}

}  // namespace
}  // namespace sortition
