#include "core/counterfactual/reward_models/reward_model_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/counterfactual/reward_models/boosted_trees.h"

namespace sortition {
namespace {

// The share of units that say when trees are enough.
constexpr double kStoppingShare = 0.2;

double Clip(double reward) { return std::clamp(reward, 0.0, 1.0); }

class ConstantRewardModel : public RewardModel {
 public:
  ConstantRewardModel(double reward, double abstain_reward)
      : RewardModel(abstain_reward), reward_(reward) {}
  double Predict(std::span<const float>) const override { return reward_; }

 private:
  double reward_;
};

class LinearRewardModel : public RewardModel {
 public:
  LinearRewardModel(double intercept, std::vector<double> coefficients,
                    double abstain_reward)
      : RewardModel(abstain_reward),
        intercept_(intercept),
        coefficients_(std::move(coefficients)) {}

  double Predict(std::span<const float> features) const override {
    DCHECK(features.size() == coefficients_.size());
    // In lanes, which processors can do in parallel.
    double lanes[4] = {intercept_, 0, 0, 0};
    size_t j = 0;
    for (; j + 4 <= features.size(); j += 4) {
      for (size_t k = 0; k < 4; ++k) {
        lanes[k] += coefficients_[j + k] * features[j + k];
      }
    }
    for (; j < features.size(); ++j) lanes[0] += coefficients_[j] * features[j];
    return Clip((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  }

 private:
  double intercept_;
  std::vector<double> coefficients_;
};

class TreeRewardModel : public RewardModel {
 public:
  TreeRewardModel(BoostedTrees trees, const ColumnHash& hash,
                  double abstain_reward)
      : RewardModel(abstain_reward), trees_(std::move(trees)), hash_(hash) {}

  double Predict(std::span<const float> features) const override {
    std::array<float, kHashedColumns> hashed;
    return Clip(trees_.Predict(hash_.Apply(features, hashed)));
  }

 private:
  BoostedTrees trees_;
  ColumnHash hash_;
};

bool AllFinite(std::span<const float> numbers) {
  float sum = 0;  // 0, or NaN.
  for (const float number : numbers) sum += number - number;
  return sum == 0;
}

absl::Status Check(const RewardExample& example) {
  if (!(example.reward >= 0 && example.reward <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("reward is ", example.reward, ", must be in [0, 1]"));
  }
  if (!(example.weight >= 0 && std::isfinite(example.weight))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight is ", example.weight, ", must be finite and not negative"));
  }
  if (example.abstained || AllFinite(example.features)) {
    return absl::OkStatus();
  }
  size_t j = 0;
  while (std::isfinite(example.features[j])) ++j;
  return absl::InvalidArgumentError(absl::StrCat(
      "features[", j, "] is ", example.features[j], ", must be finite"));
}

}  // namespace

HeldOutError CrossFittedModel::TotalError() const {
  HeldOutError total;
  size_t num_trees = 0;
  for (const HeldOutError& error : errors_) {
    total.kind = error.kind;
    num_trees += error.kind == RewardModelKind::kTrees ? 1 : 0;
    total.weight += error.weight;
    total.squared_error += error.squared_error;
    total.constant_error += error.constant_error;
  }
  if (num_trees > 0) {
    total.kind = 2 * num_trees > errors_.size() ? RewardModelKind::kTrees
                                                : RewardModelKind::kRidge;
  }
  return total;
}

RewardModelSums::RewardModelSums(RewardModelKind kind, uint32_t num_features,
                                 uint32_t num_folds)
    : kind_(kind),
      num_features_(num_features),
      hash_(num_features),
      folds_(num_folds),
      hashed_(hash_.is_identity() ? 0 : hash_.num_columns()) {
  CHECK(num_folds >= 3);
  const uint32_t columns = hash_.num_columns();
  const size_t most = std::min<size_t>(
      kMaxSampledExamples, kMaxSampledNumbers / std::max(columns, 1U));
  for (Fold& fold : folds_) {
    if (kind == RewardModelKind::kRidge || kind == RewardModelKind::kBest) {
      fold.ridge.emplace(columns);
    }
    if (kind == RewardModelKind::kTrees || kind == RewardModelKind::kBest) {
      fold.sample.emplace(columns, most / num_folds);
    }
  }
}

void RewardModelSums::Add(const RewardExample& example) {
  CHECK(example.abstained || example.features.size() == num_features_);
  absl::Status status = Check(example);
  if (!status.ok()) {
    if (refused_.ok()) refused_ = std::move(status);
    return;
  }
  if (kind_ == RewardModelKind::kNone || example.weight == 0) return;
  Fold& fold =
      folds_[FoldOf(example.unit_hash, static_cast<uint32_t>(folds_.size()))];
  if (example.abstained) {
    fold.abstained.Add(example.reward, example.weight);
    return;
  }
  fold.answered.Add(example.reward, example.weight);
  const std::span<const float> row = hash_.Apply(example.features, hashed_);
  if (fold.ridge.has_value()) {
    fold.ridge->Add(row, example.reward, example.weight);
  }
  if (fold.sample.has_value()) {
    fold.sample->Add(row, example.unit_hash, example.reward, example.weight);
  }
}

void RewardModelSums::Merge(const RewardModelSums& other) {
  CHECK(other.kind_ == kind_ && other.num_features_ == num_features_ &&
        other.folds_.size() == folds_.size());
  if (refused_.ok()) refused_ = other.refused_;
  for (size_t k = 0; k < folds_.size(); ++k) {
    Fold& fold = folds_[k];
    const Fold& added = other.folds_[k];
    fold.answered.Merge(added.answered);
    fold.abstained.Merge(added.abstained);
    if (fold.ridge.has_value()) fold.ridge->Merge(*added.ridge);
    if (fold.sample.has_value()) fold.sample->Merge(*added.sample);
  }
}

RewardModelSums::Outside RewardModelSums::OutsideOf(uint32_t fold) const {
  Mean answered;
  Mean abstained;
  for (uint32_t k = 0; k < folds_.size(); ++k) {
    if (k == fold) continue;
    answered.Merge(folds_[k].answered);
    abstained.Merge(folds_[k].abstained);
  }
  Mean all = answered;
  all.Merge(abstained);
  return {.mean = (answered.weight > 0 ? answered : all).value(),
          .abstain_reward = (abstained.weight > 0 ? abstained : all).value(),
          .has_answered = answered.weight > 0};
}

std::vector<RewardModelSums::Fitted> RewardModelSums::FitRidge(
    std::span<const Outside> outside) const {
  std::vector<Eigen::MatrixXd> moments;
  for (const Fold& fold : folds_) moments.push_back(fold.ridge->Moments());
  std::vector<Fitted> all;
  const std::vector<CrossFittedRidge> models = FitCrossFittedRidge(moments);
  for (size_t k = 0; k < models.size(); ++k) {
    const LinearModel& model = models[k].model;
    const LinearModel constant = {
        outside[k].mean, Eigen::VectorXd::Zero(model.coefficients.size())};
    Fitted fitted;
    fitted.model = std::make_shared<LinearRewardModel>(
        model.intercept,
        hash_.Expand({model.coefficients.data(),
                      static_cast<size_t>(model.coefficients.size())}),
        outside[k].abstain_reward);
    fitted.error = {.kind = RewardModelKind::kRidge,
                    .weight = moments[k](0, 0),
                    .squared_error = SquaredError(model, moments[k]),
                    .constant_error = SquaredError(constant, moments[k])};
    fitted.expected_r_squared = models[k].expected_r_squared;
    all.push_back(std::move(fitted));
  }
  return all;
}

RewardModelSums::Fitted RewardModelSums::FitTrees(
    uint32_t fold, const Outside& outside) const {
  // The sample of a fold stands for all of its examples.
  std::vector<std::pair<SampledExample, std::span<const float>>> examples;
  for (uint32_t k = 0; k < folds_.size(); ++k) {
    if (k == fold) continue;
    const ExampleSample& sample = *folds_[k].sample;
    for (SampledExample example : sample.examples()) {
      example.weight *= static_cast<double>(sample.num_seen()) /
                        static_cast<double>(sample.examples().size());
      examples.emplace_back(example, sample.RowOf(example));
    }
  }
  // One order, which is as random as keys are.
  std::sort(examples.begin(), examples.end(), [](const auto& a, const auto& b) {
    return ExampleSample::Before(a.first, b.first);
  });
  TreeExamples training;
  TreeExamples stopping;
  for (const auto& [example, row] : examples) {
    const bool stops = SetAsideNumber(example.unit_hash) < kStoppingShare;
    (stops ? stopping : training).Add(row, example.reward, example.weight);
  }
  BoostedTrees trees =
      BoostedTrees::Fit(training, stopping, hash_.num_columns());
  Fitted fitted;
  fitted.expected_r_squared = trees.stopping_r_squared();
  fitted.error.kind = RewardModelKind::kTrees;
  const ExampleSample& held_out = *folds_[fold].sample;
  for (const SampledExample& example : held_out.examples()) {
    const double error =
        example.reward - Clip(trees.Predict(held_out.RowOf(example)));
    const double deviation = example.reward - outside.mean;
    fitted.error.weight += example.weight;
    fitted.error.squared_error += example.weight * error * error;
    fitted.error.constant_error += example.weight * deviation * deviation;
  }
  fitted.model = std::make_shared<TreeRewardModel>(std::move(trees), hash_,
                                                   outside.abstain_reward);
  return fitted;
}

absl::StatusOr<CrossFittedModel> RewardModelSums::Fit() const {
  if (!refused_.ok()) return refused_;
  std::vector<Outside> outside;
  for (uint32_t k = 0; k < folds_.size(); ++k) outside.push_back(OutsideOf(k));
  std::vector<Fitted> ridge;
  if (folds_[0].ridge.has_value()) ridge = FitRidge(outside);
  CrossFittedModel fitted;
  for (uint32_t k = 0; k < folds_.size(); ++k) {
    Fitted best;
    if (!outside[k].has_answered) {
      // Of kNone, too, whose sums are 0.
      best.model = std::make_shared<ConstantRewardModel>(
          outside[k].mean, outside[k].abstain_reward);
    } else {
      if (!ridge.empty()) best = std::move(ridge[k]);
      if (folds_[k].sample.has_value()) {
        Fitted trees = FitTrees(k, outside[k]);
        if (ridge.empty() ||
            trees.expected_r_squared > best.expected_r_squared) {
          best = std::move(trees);
        }
      }
    }
    fitted.models_.push_back(std::move(best.model));
    fitted.errors_.push_back(best.error);
  }
  return fitted;
}

}  // namespace sortition
