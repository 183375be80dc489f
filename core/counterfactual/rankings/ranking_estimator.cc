#include "core/counterfactual/rankings/ranking_estimator.h"

namespace sortition {
namespace {

using Kind = RankingEstimatorKind;
using Weight = RankingWeightKind;
using Form = RankingForm;

constexpr Kind kAllKinds[] = {
    Kind::kWholeOrder,
    Kind::kSelfNormalisedWholeOrder,
    Kind::kWholeOrderDr,
    Kind::kShownPrefix,
    Kind::kSelfNormalisedShownPrefix,
    Kind::kShownPrefixDr,
    Kind::kRewardInteraction,
    Kind::kSelfNormalisedRewardInteraction,
    Kind::kCascadeDr,
    Kind::kItemPosition,
    Kind::kSelfNormalisedItemPosition,
    Kind::kItemPositionDr,
    Kind::kPseudoInverse,
    Kind::kSelfNormalisedPseudoInverse,
    Kind::kPseudoInverseDr,
    Kind::kDirect,
    Kind::kAdaptive,
};

struct Facts {
  const char* key;
  const char* name;
  std::optional<Weight> weight = std::nullopt;
  std::optional<Form> form = std::nullopt;
};

Facts FactsOf(Kind kind) {
  switch (kind) {
    case Kind::kWholeOrder:
      return {"whole", "whole order", Weight::kWholeOrder, Form::kPlain};
    case Kind::kSelfNormalisedWholeOrder:
      return {"sn_whole", "self-normalised whole order", Weight::kWholeOrder,
              Form::kSelfNormalised};
    case Kind::kWholeOrderDr:
      return {"whole_dr", "doubly robust whole order", Weight::kWholeOrder,
              Form::kDoublyRobust};
    case Kind::kShownPrefix:
      return {"shown", "shown ranks", Weight::kShownPrefix, Form::kPlain};
    case Kind::kSelfNormalisedShownPrefix:
      return {"sn_shown", "self-normalised shown ranks", Weight::kShownPrefix,
              Form::kSelfNormalised};
    case Kind::kShownPrefixDr:
      return {"shown_dr", "doubly robust shown ranks", Weight::kShownPrefix,
              Form::kDoublyRobust};
    case Kind::kRewardInteraction:
      return {"rips", "reward interaction", Weight::kPrefix, Form::kPlain};
    case Kind::kSelfNormalisedRewardInteraction:
      return {"snrips", "self-normalised reward interaction", Weight::kPrefix,
              Form::kSelfNormalised};
    case Kind::kCascadeDr:
      return {"cascade_dr", "cascade doubly robust", Weight::kPrefix,
              Form::kDoublyRobust};
    case Kind::kItemPosition:
      return {"iips", "item-position", Weight::kMarginal, Form::kPlain};
    case Kind::kSelfNormalisedItemPosition:
      return {"sniips", "self-normalised item-position", Weight::kMarginal,
              Form::kSelfNormalised};
    case Kind::kItemPositionDr:
      return {"iips_dr", "item-position doubly robust", Weight::kMarginal,
              Form::kDoublyRobust};
    case Kind::kPseudoInverse:
      return {"pi", "pseudo-inverse", Weight::kPseudoInverse, Form::kPlain};
    case Kind::kSelfNormalisedPseudoInverse:
      return {"snpi", "self-normalised pseudo-inverse", Weight::kPseudoInverse,
              Form::kSelfNormalised};
    case Kind::kPseudoInverseDr:
      return {"pi_dr", "doubly robust pseudo-inverse", Weight::kPseudoInverse,
              Form::kDoublyRobust};
    case Kind::kDirect:
      return {"direct", "direct method"};
    case Kind::kAdaptive:
      return {"adaptive", "adaptive by user behaviour"};
  }
  return {"", ""};
}

}  // namespace

std::span<const Kind> AllRankingEstimators() { return kAllKinds; }

std::string RankingEstimatorKey(Kind kind) { return FactsOf(kind).key; }

std::optional<Kind> RankingEstimatorOfKey(absl::string_view key) {
  for (const Kind kind : kAllKinds) {
    if (FactsOf(kind).key == key) return kind;
  }
  return std::nullopt;
}

std::string RankingEstimatorName(Kind kind) { return FactsOf(kind).name; }

std::string RankingAssumptionOf(Kind kind) {
  if (kind == Kind::kDirect) return "The model of rewards is right.";
  if (kind == Kind::kAdaptive) {
    return "Rewards do not depend on ranks that were not shown; where data "
           "seem to allow it, nor on more of those that were.";
  }
  switch (*RankingWeightOf(kind)) {
    case Weight::kWholeOrder:
      return "Nothing about users.";
    case Weight::kShownPrefix:
      return "Rewards do not depend on ranks that were not shown.";
    case Weight::kPrefix:
      return "The reward of a rank does not depend on what stands below it.";
    case Weight::kMarginal:
      return "The reward of a rank depends on its own item only, not on what "
             "stands above or below it.";
    case Weight::kPseudoInverse:
      return "The sum of rewards is a sum over ranks of numbers that depend on "
             "item and rank only, which need not be their rewards.";
  }
  return "";
}

std::optional<Weight> RankingWeightOf(Kind kind) {
  return FactsOf(kind).weight;
}

std::optional<Form> RankingFormOf(Kind kind) { return FactsOf(kind).form; }

}  // namespace sortition
