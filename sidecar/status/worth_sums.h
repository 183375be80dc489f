#pragma once
// What the decisions of one version were worth, in constant memory.
#include <cstdint>
#include <limits>
#include <vector>

#include "core/counterfactual/evaluation/group_sums.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Not thread-safe.
class WorthSums {
 public:
  static constexpr size_t kGroups = 256;
  static constexpr double kConfidence = 0.95;

  WorthSums();

  // Adds a tuple of the version: `choice` is what ParseChoice() leaves of its
  // decision, which `tuple` lacks.
  void AddTuple(const log::v1::BanditTuple& tuple,
                const log::v1::Decision& choice);

  // Adds the importance weight under the version of a tuple of any version.
  // One that is no number, or negative, is left out.
  void AddWeight(double weight);

  // Adds the tuples of another version, but no weights: those of two versions
  // judge neither.
  void Merge(const WorthSums& other);

  // Returns all but model and version. The interval of the reward is Student's,
  // of the ratio of sums over groups of units (EstimateRatios()), where these
  // are nearly normal (IsNearlyNormal()) and differ at all.
  status::v1::Worth Worth() const;

 private:
  // The propensity of the first choice; only of selections and rankings.
  void AddFirst(const log::v1::Decision& choice);
  void SetReward(status::v1::Estimate* reward) const;

  // By group of units: kReward and kCount.
  enum Entry : size_t { kReward, kCount };
  GroupSums groups_{kGroups, 2};
  uint64_t tuples_ = 0;
  uint64_t with_feedback_ = 0;
  uint64_t abstentions_ = 0;
  uint64_t shared_ = 0;
  double smallest_reward_ = std::numeric_limits<double>::infinity();
  double largest_reward_ = -std::numeric_limits<double>::infinity();
  double weights_ = 0;         // Σ ρ
  double weight_squares_ = 0;  // Σ ρ²
  std::vector<double> bounds_;
  std::vector<uint64_t> bins_;  // One more than bounds.
  // Of the version's own first choices: -log p.
  double surprise_ = 0;
  uint64_t surprises_ = 0;
};

}  // namespace sortition
