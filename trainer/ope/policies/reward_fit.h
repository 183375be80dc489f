#pragma once
// The model of rewards that doubly robust estimates correct, fitted to a log.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/counterfactual/reward_models/reward_model.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// InvalidArgument unless `text` is ridge, trees, best or none.
absl::StatusOr<RewardModelKind> ParseRewardModel(absl::string_view text);

// Returns a candidate's features as a dense row, in `scratch` if they are not.
std::span<const float> DenseRow(const Candidates& candidates, size_t i,
                                std::vector<float>* scratch);

// What the model expects of a decision.
struct ExpectedRewards {
  std::vector<double> candidates;  // 0 for those that are not eligible.
  double abstain = 0;

  // Of an action: of its first candidate.
  double Of(std::span<const int32_t> action) const {
    return action[0] == kAbstain ? abstain : candidates[size_t(action[0])];
  }
  // Of a policy.
  double Of(const PolicyView& view) const;
};

// Learns in a first pass, predicts in a second one. The reward of a ranking
// counts for its first candidate. Not thread-safe.
class RewardFit {
 public:
  RewardFit(RewardModelKind kind, uint32_t num_features, uint32_t num_folds)
      : sums_(kind, num_features, num_folds) {}

  void Add(const LoggedDecision& decision, double weight);
  absl::Status Fit();

  // Requires Fit(). Uses the model that has not seen the decision's unit.
  void Predict(const LoggedDecision& decision, ExpectedRewards* expected);

  const CrossFittedModel& model() const { return *model_; }

 private:
  RewardModelSums sums_;
  std::optional<CrossFittedModel> model_;
  std::vector<float> row_;  // Scratch.
};

}  // namespace sortition
