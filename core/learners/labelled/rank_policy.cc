#include "core/learners/labelled/rank_policy.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/field_range.h"
#include "core/base/status_macros.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

using config::v1::RankPolicyOptions;
using model::v1::BoltzmannRanking;
using model::v1::SortedRanking;

// Returns an option that `kind` uses and that is set; null: there is none.
const char* SetOptionOf(RankPolicyOptions::Kind kind,
                        const RankPolicyOptions& options) {
  switch (kind) {
    case RankPolicyOptions::PLACKETT_LUCE:
      return options.rank_factors_size() > 0 ? "rank_factors" : nullptr;
    case RankPolicyOptions::BOLTZMANN:
      return options.has_cutoff()                  ? "cutoff"
             : options.has_head()                  ? "head"
             : options.has_plackett_luce_mixture() ? "plackett_luce_mixture"
                                                   : nullptr;
    case RankPolicyOptions::SORTED:
      return options.has_swap_probability()      ? "swap_probability"
             : options.has_shuffle_probability() ? "shuffle_probability"
             : options.has_shuffle_ranks()       ? "shuffle_ranks"
                                                 : nullptr;
  }
  return nullptr;
}

absl::Status CheckOrders(const RankPolicyOptions& options,
                         RankPolicyOptions::Kind kind) {
  for (const auto other :
       {RankPolicyOptions::PLACKETT_LUCE, RankPolicyOptions::BOLTZMANN,
        RankPolicyOptions::SORTED}) {
    const char* name = SetOptionOf(other, options);
    if (other == kind || name == nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("rank_policy.", name, " is set, must be unset for kind ",
                     RankPolicyOptions::Kind_Name(kind), ": only ",
                     RankPolicyOptions::Kind_Name(other), " uses it"));
  }
  return absl::OkStatus();
}

void SetOrders(const RankPolicyOptions& options, RankPolicyOptions::Kind kind,
               model::v1::Policy* policy) {
  if (kind == RankPolicyOptions::PLACKETT_LUCE) {
    *policy->mutable_plackett_luce()->mutable_rank_factors() =
        options.rank_factors();
    return;
  }
  if (kind == RankPolicyOptions::SORTED) {
    SortedRanking* sorted = policy->mutable_sorted_ranking();
    sorted->set_swap_probability(options.swap_probability());
    sorted->set_shuffle_probability(options.shuffle_probability());
    sorted->set_shuffle_ranks(options.shuffle_ranks());
    return;
  }
  BoltzmannRanking* orders = policy->mutable_boltzmann_ranking();
  orders->set_rank_weights(BoltzmannRanking::DCG);
  orders->set_cutoff(options.cutoff());
  orders->set_head(options.head());
  orders->set_plackett_luce_mixture(options.plackett_luce_mixture());
}

}  // namespace

absl::Status CheckLearnedThreshold(double threshold) {
  using model::v1::IndependentSubset;
  const absl::Status status =
      CheckInRange("the learned threshold", threshold,
                   PolicyRange(*IndependentSubset::descriptor(),
                               IndependentSubset::kThresholdFieldNumber));
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), "; train with a larger lambda"));
}

absl::StatusOr<model::v1::Policy> MakeRankPolicy(
    const LabelledPolicyTask& task, RankPolicyOptions::Kind rank_kind,
    uint32_t subset_size) {
  RETURN_IF_ERROR(CheckLearnedThreshold(task.threshold));
  const bool ranks = task.action_kind == ActionKind::kRank;
  const RankPolicyOptions::Kind kind =
      task.rank.has_kind() ? task.rank.kind() : rank_kind;
  if (!ranks && task.rank.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_policy is set, must be unset for action ",
        task.action_kind == ActionKind::kSelect ? "select" : "label"));
  }
  if (ranks) RETURN_IF_ERROR(CheckOrders(task.rank, kind));
  model::v1::Policy policy;
  policy.set_inverse_temperature(task.inverse_temperature);
  policy.set_uniform_mixture(task.uniform_mixture);
  switch (task.action_kind) {
    case ActionKind::kRank:
      SetOrders(task.rank, kind, &policy);
      break;
    case ActionKind::kSelect:
      policy.mutable_softmax_selection();
      break;
    case ActionKind::kSubset:
      policy.mutable_independent_subset()->set_threshold(task.threshold);
      policy.mutable_independent_subset()->set_k(subset_size);
      break;
  }
  RETURN_IF_ERROR(ValidatePolicy(policy));
  return policy;
}

}  // namespace sortition
