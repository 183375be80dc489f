#include "core/policies/distribution_factory.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/policies/boltzmann_ranking_distribution.h"
#include "core/policies/game_ranking_distribution.h"
#include "core/policies/game_subset_distribution.h"
#include "core/policies/independent_subset_distribution.h"
#include "core/policies/ranking_distribution.h"
#include "core/policies/selection_distribution.h"

namespace sortition {
namespace {

constexpr absl::string_view kServedKinds =
    "softmax_selection, plackett_luce, game_ranking, boltzmann_ranking, "
    "independent_subset or game_subset";

}  // namespace

absl::StatusOr<std::unique_ptr<const ActionDistribution>>
MakeActionDistribution(const model::v1::Policy& policy) {
  constexpr double kMaxInverseTemperature = 1e6;
  constexpr double kMaxAbstainScore = 1e6;
  const double alpha = policy.inverse_temperature();
  if (!(alpha > 0 && alpha <= kMaxInverseTemperature)) {
    return absl::InvalidArgumentError(
        absl::StrCat("inverse_temperature is ", alpha, ", must be in (0, ",
                     kMaxInverseTemperature, "]"));
  }
  const double epsilon = policy.uniform_mixture();
  if (!(epsilon >= 0 && epsilon <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("uniform_mixture is ", epsilon, ", must be in [0, 1]"));
  }
  switch (policy.kind_case()) {
    case model::v1::Policy::kSoftmaxSelection: {
      const double abstain = policy.softmax_selection().abstain_score();
      if (!(std::abs(abstain) <= kMaxAbstainScore)) {
        return absl::InvalidArgumentError(
            absl::StrCat("abstain_score is ", abstain, ", must be in [",
                         -kMaxAbstainScore, ", ", kMaxAbstainScore, "]"));
      }
      return std::make_unique<const SelectionDistribution>(alpha, epsilon);
    }
    case model::v1::Policy::kPlackettLuce:
      return std::make_unique<const RankingDistribution>(alpha, epsilon);
    case model::v1::Policy::kGameRanking:
      return GameRankingDistribution::Create(alpha, epsilon,
                                             policy.game_ranking());
    case model::v1::Policy::kIndependentSubset:
      return IndependentSubsetDistribution::Create(alpha, epsilon,
                                                   policy.independent_subset());
    case model::v1::Policy::kGameSubset:
      return GameSubsetDistribution::Create(alpha, epsilon,
                                            policy.game_subset());
    case model::v1::Policy::kBoltzmannRanking:
      return BoltzmannRankingDistribution::Create(alpha, epsilon,
                                                  policy.boltzmann_ranking());
    case model::v1::Policy::kLabelChain:
    case model::v1::Policy::kIndependentLabels:
      return absl::InvalidArgumentError(absl::StrCat(
          "policy kind is ",
          policy.has_label_chain() ? "label_chain" : "independent_labels",
          ", which cannot be served, must be ", kServedKinds));
    case model::v1::Policy::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("policy kind is not set, must be ", kServedKinds));
}

ActionKind ActionKindOf(const model::v1::Policy& policy) {
  if (policy.has_softmax_selection()) return ActionKind::kSelect;
  return policy.has_game_subset() || policy.has_independent_subset()
             ? ActionKind::kSubset
             : ActionKind::kRank;
}

bool HasFullSupport(const model::v1::Policy& policy, size_t num_eligible) {
  if (policy.uniform_mixture() > 0) return true;
  if (policy.has_game_ranking()) {
    return policy.game_ranking().plackett_luce_mixture() > 0;
  }
  if (policy.has_boltzmann_ranking()) {
    return policy.boltzmann_ranking().plackett_luce_mixture() > 0 ||
           num_eligible <= HeadOf(policy.boltzmann_ranking());
  }
  return !policy.has_game_subset();
}

uint32_t SubsetSize(const model::v1::Policy& policy) {
  if (policy.has_independent_subset()) return policy.independent_subset().k();
  return policy.game_subset().measure() == model::v1::GameSubset::PRECISION
             ? policy.game_subset().k()
             : 0;
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
