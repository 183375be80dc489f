#pragma once
// What reward models are fitted from, gathered in one pass over a log in
// bounded memory, and the models, cross-fitted by unit [ChernozhukovEtAl18].
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/reward_models/column_hash.h"
#include "core/counterfactual/reward_models/example_sample.h"
#include "core/counterfactual/reward_models/reward_model.h"
#include "core/counterfactual/reward_models/ridge_sums.h"

namespace sortition {

// How good the model of a fold is on the units of the fold, which it has never
// seen: on all their decisions (ridge) or a sample of them (trees); on
// decisions that did not abstain. Errors of ridge are those before its
// predictions are clipped to [0, 1], which are larger.
struct HeldOutError {
  RewardModelKind kind = RewardModelKind::kNone;  // kRidge or kTrees if fitted.
  double weight = 0;                              // Σ weight
  double squared_error = 0;                       // Σ weight (r - q)²
  double constant_error = 0;  // The same of the mean reward of other folds.

  // The part of the squared error that the model takes away; 0 if there is
  // none, negative if it is worse than a constant.
  double r_squared() const {
    return constant_error > 0 ? 1 - squared_error / constant_error : 0;
  }
};

class CrossFittedModel {
 public:
  // Returns the model that was fitted without the fold of this unit: it does
  // not depend on anything that the unit did.
  const RewardModel& For(uint64_t unit_hash) const {
    return OfFold(FoldOf(unit_hash, num_folds()));
  }
  const RewardModel& OfFold(uint32_t fold) const { return *models_[fold]; }
  uint32_t num_folds() const { return static_cast<uint32_t>(models_.size()); }

  std::span<const HeldOutError> errors() const { return errors_; }  // By fold.
  // The sum over folds; its kind is that of most folds.
  HeldOutError TotalError() const;

 private:
  friend class RewardModelSums;
  std::vector<std::shared_ptr<const RewardModel>> models_;  // By fold.
  std::vector<HeldOutError> errors_;
};

// Rows of more than kMaxDirectColumns features are hashed to fewer columns
// (column_hash.h). Memory: for ridge num_folds matrices of columns² doubles,
// for trees a sample of at most kMaxSampledExamples examples or
// kMaxSampledNumbers features. Time of Add(): for ridge some columns²
// operations, for trees a hash of the row.
class RewardModelSums {
 public:
  static constexpr uint32_t kDefaultFolds = 5;
  static constexpr size_t kMaxSampledExamples = 200'000;
  static constexpr size_t kMaxSampledNumbers = size_t{1} << 25;

  // Requires num_folds >= 3: ridge chooses its penalty by the folds that are
  // left, of which it needs two.
  RewardModelSums(RewardModelKind kind, uint32_t num_features,
                  uint32_t num_folds = kDefaultFolds);

  // Requires features.size() == num_features unless it abstained. An example
  // with numbers that are not finite, a reward outside [0, 1] or a negative
  // weight is not added; Fit() will return an error that names it.
  void Add(const RewardExample& example);

  // Requires the same kind, features and folds. Sums of parts of a log merge to
  // those of the whole: up to rounding for ridge; for trees to the same sample,
  // so that predictions are the same to the last bit, whatever the order.
  void Merge(const RewardModelSums& other);

  // Fits the model of each fold to the other folds. Where no example is
  // outside, it predicts 0; where all of them abstained, their mean reward.
  // InvalidArgument if an example was refused.
  absl::StatusOr<CrossFittedModel> Fit() const;

 private:
  struct Mean {
    double weight = 0;
    double sum = 0;
    void Add(double value, double its_weight) {
      weight += its_weight;
      sum += its_weight * value;
    }
    void Merge(const Mean& other) {
      weight += other.weight;
      sum += other.sum;
    }
    double value() const { return weight > 0 ? sum / weight : 0; }
  };
  struct Fold {
    Mean answered;
    Mean abstained;
    std::optional<RidgeSums> ridge;
    std::optional<ExampleSample> sample;
  };
  // What is known of a fold without it.
  struct Outside {
    double mean = 0;            // Of those that did not abstain, or of all.
    double abstain_reward = 0;  // Of those that did, or of all.
    bool has_answered = false;
  };
  struct Fitted {
    std::shared_ptr<const RewardModel> model;
    HeldOutError error;
    double expected_r_squared = 0;  // Seen outside the fold.
  };

  Outside OutsideOf(uint32_t fold) const;
  std::vector<Fitted> FitRidge(std::span<const Outside> outside) const;
  Fitted FitTrees(uint32_t fold, const Outside& outside) const;

  RewardModelKind kind_;
  uint32_t num_features_;
  ColumnHash hash_;
  std::vector<Fold> folds_;
  std::vector<float> hashed_;  // Scratch.
  absl::Status refused_;       // The first error.
};

}  // namespace sortition
