#pragma once
// A model of what a candidate earns at a rank, fitted to a log.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/counterfactual/reward_models/reward_model.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Learns in a first pass, predicts in a second one, each unit by what others
// did. Columns: the features of the candidate, 1 / log2(r + 2), and one for
// each of the first ranks. Not thread-safe.
class RankRewardFit {
 public:
  static constexpr size_t kRankColumns = 10;
  // Wider rows are not learned from: each rank is an example of its own.
  static constexpr uint32_t kMostFeatures = 256;

  RankRewardFit(RewardModelKind kind, uint32_t num_features,
                uint32_t num_folds);

  // `rewards` in [0, 1], by the first ranks of the logged order.
  void Add(const LoggedDecision& decision, std::span<const double> rewards);
  absl::Status Fit();

  // Writes what the eligible candidate at position i would earn at rank k at
  // [k * m + i], k < ranks. Requires Fit().
  void Predict(const LoggedDecision& decision, size_t ranks,
               std::vector<double>* expected);

 private:
  // Fill row_, the columns of a candidate and those of a rank.
  void SetCandidate(const Candidates& candidates, size_t document);
  void SetRank(size_t rank);

  uint32_t num_features_;
  RewardModelSums sums_;
  std::optional<CrossFittedModel> model_;
  std::vector<float> row_;
  std::vector<float> dense_;
};

}  // namespace sortition
