#include "core/policies/policy_check.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/annotated_range.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;
using model::v1::BoltzmannRanking;
using model::v1::GameRanking;
using model::v1::GameSubset;
using model::v1::PlackettLuce;
using model::v1::Policy;
using model::v1::SortedRanking;

absl::Status KindNotSetError() {
  std::vector<std::string> names;
  const auto& kinds = *Policy::descriptor()->FindOneofByName("kind");
  for (int i = 0; i < kinds.field_count(); ++i) {
    names.push_back(kinds.field(i)->name());
  }
  const std::string last = names.back();
  names.pop_back();
  return absl::InvalidArgumentError(
      absl::StrCat("policy.kind is not set, must be ",
                   absl::StrJoin(names, ", "), " or ", last));
}

// PRECISION is of a number of ranks or candidates: `value` of `field` must not
// be 0, which the range of the field allows for the other measures.
absl::Status CheckPositive(absl::string_view field, uint32_t value,
                           FieldRange range) {
  range.min = 1;
  return CheckInRange(field, value, range);
}

absl::Status CheckGameRanking(const GameRanking& game) {
  if (game.discount() != GameRanking::PRECISION) return absl::OkStatus();
  return CheckPositive(
      "policy.game_ranking.cutoff", game.cutoff(),
      PolicyRange(*GameRanking::descriptor(), GameRanking::kCutoffFieldNumber));
}

absl::Status CheckGameSubset(const GameSubset& game) {
  if (game.measure() != GameSubset::PRECISION) return absl::OkStatus();
  return CheckPositive(
      "policy.game_subset.k", game.k(),
      PolicyRange(*GameSubset::descriptor(), GameSubset::kKFieldNumber));
}

// Rank weights are given with CUSTOM only, and do not rise.
absl::Status CheckBoltzmannRanking(const BoltzmannRanking& boltzmann) {
  constexpr int kMaxRankWeights = 1'000'000;
  const bool custom = boltzmann.rank_weights() == BoltzmannRanking::CUSTOM;
  const int size = boltzmann.weights_size();
  if (custom ? size < 1 || size > kMaxRankWeights : size > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.boltzmann_ranking.weights has ", size, " values, must have ",
        custom ? absl::StrCat("1 to ", kMaxRankWeights, " with CUSTOM")
               : "none but with rank_weights CUSTOM"));
  }
  for (int r = 1; r < size; ++r) {
    if (boltzmann.weights(r) <= boltzmann.weights(r - 1)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("policy.boltzmann_ranking.weights[", r, "] is ",
                     NumberText(boltzmann.weights(r)),
                     ", must be at most the weight before it, ",
                     NumberText(boltzmann.weights(r - 1))));
  }
  return absl::OkStatus();
}

// Every decision is logged with its policy, and each factor costs a rank drawn
// on its own.
absl::Status CheckPlackettLuce(const PlackettLuce& plackett_luce) {
  constexpr int kMaxRankFactors = 100;
  const int size = plackett_luce.rank_factors_size();
  if (size <= kMaxRankFactors) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("policy.plackett_luce.rank_factors has ", size,
                   " values, must have at most ", kMaxRankFactors));
}

absl::Status CheckSortedRanking(const SortedRanking& sorted) {
  if (sorted.shuffle_probability() == 0 || sorted.shuffle_ranks() > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.sorted_ranking.shuffle_ranks is 0, must be at least 2 where "
      "shuffle_probability is above 0, it is ",
      NumberText(sorted.shuffle_probability())));
}

absl::Status CheckTransitions(const model::v1::LabelChain& chain) {
  const uint64_t q = chain.num_labels();
  const auto size = static_cast<uint64_t>(chain.transitions_size());
  if (size == 0 || size == q * q) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("policy.label_chain.transitions has ", size,
                   " values, must have ", q * q, " or none"));
}

absl::Status CheckNoMixture(const Policy& policy, absl::string_view kind) {
  if (policy.uniform_mixture() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.uniform_mixture is ", NumberText(policy.uniform_mixture()),
      ", must be 0 for ", kind));
}

// Rules between fields. Requires fields in their ranges.
absl::Status CheckRules(const Policy& policy) {
  switch (policy.kind_case()) {
    case Policy::kGameRanking:
      return CheckGameRanking(policy.game_ranking());
    case Policy::kGameSubset:
      return CheckGameSubset(policy.game_subset());
    case Policy::kBoltzmannRanking:
      return CheckBoltzmannRanking(policy.boltzmann_ranking());
    case Policy::kPlackettLuce:
      return CheckPlackettLuce(policy.plackett_luce());
    case Policy::kSortedRanking:
      return CheckSortedRanking(policy.sorted_ranking());
    case Policy::kLabelChain:
      RETURN_IF_ERROR(CheckTransitions(policy.label_chain()));
      return CheckNoMixture(policy, "label_chain");
    case Policy::kIndependentLabels:
      return CheckNoMixture(policy, "independent_labels");
    case Policy::kSoftmaxSelection:
    case Policy::kIndependentSubset:
      return absl::OkStatus();
    case Policy::KIND_NOT_SET:
      break;
  }
  return KindNotSetError();
}

}  // namespace

absl::Status ValidatePolicy(const Policy& policy) {
  RETURN_IF_ERROR(CheckAnnotatedRanges(policy, "policy"));
  return CheckRules(policy);
}

absl::Status ValidateWeights(std::span<const double> weights) {
  const FieldRange range = PolicyRange(*model::v1::Model::descriptor(),
                                       model::v1::Model::kWeightsFieldNumber);
  for (size_t j = 0; j < weights.size(); ++j) {
    if (range.Contains(weights[j])) continue;
    return CheckInRange(absl::StrCat("weights[", j, "]"), weights[j], range);
  }
  return absl::OkStatus();
}

FieldRange PolicyRange(const google::protobuf::Descriptor& message,
                       int field_number) {
  const FieldDescriptor* field = message.FindFieldByNumber(field_number);
  CHECK(field != nullptr);
  const std::optional<FieldRange> range = AnnotatedRange(*field);
  CHECK(range.has_value());
  return *range;
}

}  // namespace sortition
