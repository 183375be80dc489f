#include "core/learners/labelled/rank_policy.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::RankPolicyOptions;
using model::v1::BoltzmannRanking;

constexpr double kMaxInverseTemperature = 1e6;
constexpr double kMaxThreshold = 1e6;
constexpr uint32_t kMaxSubset = 1'000'000;

absl::Status CheckOrders(const RankPolicyOptions& options,
                         RankPolicyOptions::Kind kind) {
  if (kind == RankPolicyOptions::BOLTZMANN) return absl::OkStatus();
  const char* name = options.has_cutoff() ? "cutoff"
                     : options.has_head() ? "head"
                     : options.has_plackett_luce_mixture()
                         ? "plackett_luce_mixture"
                         : nullptr;
  if (name == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank_policy.", name,
                   " is set, must be unset for kind PLACKETT_LUCE: it is of "
                   "BOLTZMANN"));
}

absl::Status CheckNumbers(const LabelledPolicyTask& task) {
  if (!(task.inverse_temperature > 0 &&
        task.inverse_temperature <= kMaxInverseTemperature)) {
    return absl::InvalidArgumentError(
        absl::StrCat("inverse_temperature is ", task.inverse_temperature,
                     ", must be above 0 and at most ", kMaxInverseTemperature));
  }
  if (!(task.uniform_mixture >= 0 && task.uniform_mixture <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("uniform_mixture is ",
                                                   task.uniform_mixture,
                                                   ", must be within [0, 1]"));
  }
  if (!(std::abs(task.threshold) <= kMaxThreshold)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the learned threshold is ", task.threshold, ", must be within ±",
        kMaxThreshold, "; train with a larger lambda"));
  }
  return absl::OkStatus();
}

void SetOrders(const RankPolicyOptions& options, RankPolicyOptions::Kind kind,
               model::v1::Policy* policy) {
  if (kind == RankPolicyOptions::PLACKETT_LUCE) {
    policy->mutable_plackett_luce();
    return;
  }
  BoltzmannRanking* orders = policy->mutable_boltzmann_ranking();
  orders->set_rank_weights(BoltzmannRanking::DCG);
  orders->set_cutoff(options.cutoff());
  orders->set_head(options.head());
  orders->set_plackett_luce_mixture(options.plackett_luce_mixture());
}

}  // namespace

absl::StatusOr<model::v1::Policy> MakeRankPolicy(
    const LabelledPolicyTask& task, RankPolicyOptions::Kind rank_kind,
    uint32_t subset_size) {
  RETURN_IF_ERROR(CheckNumbers(task));
  const bool ranks = task.action_kind == ActionKind::kRank;
  const RankPolicyOptions::Kind kind =
      task.rank.has_kind() ? task.rank.kind() : rank_kind;
  if (!ranks && task.rank.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_policy is set, must be unset for action ",
        task.action_kind == ActionKind::kSelect ? "select" : "label"));
  }
  if (ranks) RETURN_IF_ERROR(CheckOrders(task.rank, kind));
  if (subset_size > kMaxSubset) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", subset_size, ", must be at most ", kMaxSubset));
  }
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
  return policy;
}

}  // namespace sortition
