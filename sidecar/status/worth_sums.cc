#include "sidecar/status/worth_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "core/base/hash.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "process/metrics.h"
#include "process/status/history.h"

namespace sortition {
namespace {

constexpr int32_t kAbstained = -1;  // As Decision.action.

std::optional<double> FirstLogPropensity(const log::v1::Decision& choice) {
  if (choice.action_kind() == log::v1::SELECT) return choice.log_propensity();
  if (choice.action_kind() != log::v1::RANK ||
      choice.conditional_log_propensities().empty()) {
    return std::nullopt;
  }
  return choice.conditional_log_propensities(0);
}

bool IsShared(const log::v1::Decision& choice) {
  return choice.has_interleaving() || choice.has_baseline();
}

}  // namespace

WorthSums::WorthSums()
    : bounds_(PropensityBuckets()), bins_(bounds_.size() + 1) {}

void WorthSums::AddFirst(const log::v1::Decision& choice) {
  const std::optional<double> first = FirstLogPropensity(choice);
  if (!first.has_value() || !std::isfinite(*first)) return;
  // As in Prometheus, a bound belongs to the bin below it.
  const auto bin =
      std::lower_bound(bounds_.begin(), bounds_.end(), std::exp(*first)) -
      bounds_.begin();
  ++bins_[static_cast<size_t>(bin)];
  if (IsShared(choice)) return;
  surprise_ -= *first;
  ++surprises_;
}

void WorthSums::AddTuple(const log::v1::BanditTuple& tuple,
                         const log::v1::Decision& choice) {
  ++tuples_;
  if (tuple.has_feedback()) ++with_feedback_;
  if (IsShared(choice)) ++shared_;
  if (choice.action_kind() == log::v1::SELECT && choice.action_size() == 1 &&
      choice.action(0) == kAbstained) {
    ++abstentions_;
  }
  AddFirst(choice);
  const std::span<double> group =
      groups_.GroupOf(UnitKey(choice.unit_id(), choice.decision_id()));
  group[kReward] += tuple.reward();
  smallest_reward_ = std::min(smallest_reward_, tuple.reward());
  largest_reward_ = std::max(largest_reward_, tuple.reward());
  group[kCount] += 1;
}

void WorthSums::AddWeight(double weight) {
  if (!(weight >= 0)) return;  // NaN: a propensity that is none.
  // One so large outweighs all others as well as an infinite one does, and sums
  // of squares are numbers.
  weight = std::min(weight, 1e100);
  weights_ += weight;
  weight_squares_ += weight * weight;
}

void WorthSums::Merge(const WorthSums& other) {
  groups_.Merge(other.groups_);
  tuples_ += other.tuples_;
  with_feedback_ += other.with_feedback_;
  abstentions_ += other.abstentions_;
  shared_ += other.shared_;
  smallest_reward_ = std::min(smallest_reward_, other.smallest_reward_);
  largest_reward_ = std::max(largest_reward_, other.largest_reward_);
  for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  surprise_ += other.surprise_;
  surprises_ += other.surprises_;
}

void WorthSums::SetReward(status::v1::Estimate* reward) const {
  const Ratio mean = {.numerator = {{kReward, 1}},
                      .denominator = {{kCount, 1}}};
  const std::span<const Ratio> ratios(&mean, 1);
  const RatioEstimate estimate = EstimateRatios(groups_, ratios);
  reward->set_value(estimate.value);
  reward->set_lower(estimate.value);
  reward->set_upper(estimate.value);
  if (!(estimate.standard_error > 0) || !IsNearlyNormal(groups_, ratios)) {
    return;
  }
  const double half =
      estimate.standard_error *
      StudentQuantile((1 + kConfidence) / 2, estimate.num_groups - 1);
  reward->set_lower(estimate.value - half);
  reward->set_upper(estimate.value + half);
  reward->set_confidence(kConfidence);
}

status::v1::Worth WorthSums::Worth() const {
  status::v1::Worth worth;
  worth.set_tuples(tuples_);
  worth.set_with_feedback(with_feedback_);
  worth.set_abstentions(abstentions_);
  worth.set_shared(shared_);
  if (tuples_ > 0) {
    SetReward(worth.mutable_reward());
    worth.set_smallest_reward(smallest_reward_);
    worth.set_largest_reward(largest_reward_);
  }
  worth.set_effective_sample_size(
      weight_squares_ > 0 ? weights_ * weights_ / weight_squares_ : 0);
  worth.mutable_propensities()->mutable_bounds()->Assign(bounds_.begin(),
                                                         bounds_.end());
  worth.mutable_propensities()->mutable_counts()->Assign(bins_.begin(),
                                                         bins_.end());
  worth.set_mean_entropy(
      surprises_ > 0 ? surprise_ / static_cast<double>(surprises_) : kUnknown);
  return worth;
}

}  // namespace sortition
