#include "core/policies/distribution_factory.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"
#include "core/policies/distributions/explored_ranking_distributions.h"
#include "core/policies/distributions/game_ranking_distribution.h"
#include "core/policies/distributions/game_subset_distribution.h"
#include "core/policies/distributions/independent_subset_distribution.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "core/policies/distributions/selection_distribution.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

using model::v1::GameSubset;
using model::v1::Policy;

bool IsServed(Policy::KindCase kind) {
  return kind != Policy::kLabelChain && kind != Policy::kIndependentLabels;
}

absl::Status NotServedError(const Policy& policy) {
  std::vector<std::string> served;
  const auto& kinds = *Policy::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kinds.field_count(); ++i) {
    const auto& kind = *kinds.field(i);
    if (IsServed(static_cast<Policy::KindCase>(kind.number()))) {
      served.push_back(kind.name());
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("policy.kind is ", PolicyKindName(policy),
                   ", which cannot be served, must be one of ",
                   absl::StrJoin(served, ", ")));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ActionDistribution>>
MakeActionDistribution(const Policy& policy) {
  RETURN_IF_ERROR(ValidatePolicy(policy));
  const double alpha = policy.inverse_temperature();
  const double epsilon = policy.uniform_mixture();
  switch (policy.kind_case()) {
    case Policy::kSoftmaxSelection:
      return std::make_unique<const SelectionDistribution>(alpha, epsilon);
    case Policy::kPlackettLuce:
      if (policy.plackett_luce().rank_factors_size() > 0) {
        return std::make_unique<const FactoredRankingDistribution>(
            alpha, epsilon, policy.plackett_luce());
      }
      return std::make_unique<const RankingDistribution>(alpha, epsilon);
    case Policy::kGameRanking:
      return std::make_unique<const GameRankingDistribution>(
          alpha, epsilon, policy.game_ranking());
    case Policy::kIndependentSubset:
      return std::make_unique<const IndependentSubsetDistribution>(
          alpha, epsilon, policy.independent_subset().k());
    case Policy::kGameSubset:
      return std::make_unique<const GameSubsetDistribution>(
          alpha, epsilon, policy.game_subset());
    case Policy::kBoltzmannRanking:
      return std::make_unique<const BoltzmannRankingDistribution>(
          alpha, epsilon, policy.boltzmann_ranking());
    case Policy::kSortedRanking:
      return std::make_unique<const SortedRankingDistribution>(
          alpha, epsilon, policy.sorted_ranking());
    case Policy::kLabelChain:
    case Policy::kIndependentLabels:
    case Policy::KIND_NOT_SET:
      break;
  }
  return NotServedError(policy);
}

std::string PolicyKindName(const Policy& policy) {
  const auto* kind =
      Policy::descriptor()->FindFieldByNumber(policy.kind_case());
  return kind == nullptr ? "" : kind->name();
}

ActionKind ActionKindOf(const Policy& policy) {
  if (policy.has_softmax_selection()) return ActionKind::kSelect;
  return policy.has_game_subset() || policy.has_independent_subset()
             ? ActionKind::kSubset
             : ActionKind::kRank;
}

bool HasFullSupport(const Policy& policy, size_t num_eligible) {
  if (policy.uniform_mixture() > 0) return true;
  if (policy.has_game_ranking()) {
    return policy.game_ranking().plackett_luce_mixture() > 0;
  }
  if (policy.has_boltzmann_ranking()) {
    return policy.boltzmann_ranking().plackett_luce_mixture() > 0 ||
           num_eligible <= HeadOf(policy.boltzmann_ranking());
  }
  if (policy.has_sorted_ranking()) {
    // Swaps do not count: with far scores they are impossible.
    const auto& sorted = policy.sorted_ranking();
    return num_eligible <=
           (sorted.shuffle_probability() > 0 ? sorted.shuffle_ranks() : 1);
  }
  return !policy.has_game_subset();
}

uint32_t SubsetSize(const Policy& policy) {
  if (policy.has_independent_subset()) return policy.independent_subset().k();
  return TakesSubsetSize(policy) ? policy.game_subset().k() : 0;
}

bool TakesSubsetSize(const Policy& policy) {
  return policy.has_independent_subset() ||
         policy.game_subset().measure() == GameSubset::PRECISION;
}

double SubsetThreshold(const Policy& policy) {
  return policy.has_independent_subset()
             ? policy.independent_subset().threshold()
             : policy.game_subset().threshold();
}

std::unique_ptr<const ActionDistribution> MakeUniformDistribution(
    ActionKind action_kind) {
  if (action_kind == ActionKind::kSelect) {
    return std::make_unique<const SelectionDistribution>(1, 1);
  }
  if (action_kind == ActionKind::kSubset) {
    return std::make_unique<const IndependentSubsetDistribution>(1, 1, 0);
  }
  return std::make_unique<const RankingDistribution>(1, 1);
}

}  // namespace sortition
