#include "core/counterfactual/evaluation/estimator.h"

namespace sortition {
namespace {

constexpr EstimatorKind kEstimatorKinds[] = {
    EstimatorKind::kIps,
    EstimatorKind::kControlledIps,
    EstimatorKind::kSelfNormalised,
    EstimatorKind::kClipped,
    EstimatorKind::kLogSmoothed,
    EstimatorKind::kSubGaussian,
    EstimatorKind::kDirect,
    EstimatorKind::kDoublyRobust,
    EstimatorKind::kSelfNormalisedDr,
    EstimatorKind::kBlendedDr,
    EstimatorKind::kClippedDr,
    EstimatorKind::kOptimisticDr,
    EstimatorKind::kSwitch,
    EstimatorKind::kMoreRobustDr,
    EstimatorKind::kBalanced,
    EstimatorKind::kWeighted,
    EstimatorKind::kMarginalised,
};

struct EstimatorTraits {
  const char* key;
  const char* name;
  bool needs_model = false;
  bool is_biased = false;
};

EstimatorTraits TraitsOf(EstimatorKind kind) {
  switch (kind) {
    case EstimatorKind::kIps:
      return {"ips", "IPS"};
    case EstimatorKind::kControlledIps:
      return {"controlled_ips", "IPS with control variate"};
    case EstimatorKind::kSelfNormalised:
      return {"snips", "self-normalised IPS"};
    case EstimatorKind::kClipped:
      return {"clipped", "clipped IPS", false, true};
    case EstimatorKind::kLogSmoothed:
      return {"log_smoothed", "logarithmic smoothing", false, true};
    case EstimatorKind::kSubGaussian:
      return {"sub_gaussian", "sub-Gaussian IPS", false, true};
    case EstimatorKind::kDirect:
      return {"direct", "direct method", true, true};
    case EstimatorKind::kDoublyRobust:
      return {"dr", "doubly robust", true};
    case EstimatorKind::kSelfNormalisedDr:
      return {"sndr", "self-normalised doubly robust", true};
    case EstimatorKind::kBlendedDr:
      return {"blended_dr", "blended doubly robust", true, true};
    case EstimatorKind::kClippedDr:
      return {"clipped_dr", "clipped doubly robust", true, true};
    case EstimatorKind::kOptimisticDr:
      return {"optimistic_dr", "optimistically shrunk doubly robust", true,
              true};
    case EstimatorKind::kSwitch:
      return {"switch_dr", "switching doubly robust", true, true};
    case EstimatorKind::kMoreRobustDr:
      return {"more_robust_dr", "more robust doubly robust", true};
    case EstimatorKind::kBalanced:
      return {"balanced", "balanced IPS"};
    case EstimatorKind::kWeighted:
      return {"weighted", "IPS weighted by logging version"};
    case EstimatorKind::kMarginalised:
      return {"marginalised", "marginalised IPS"};
  }
  return {"", ""};
}

}  // namespace

std::span<const EstimatorKind> AllEstimatorKinds() { return kEstimatorKinds; }

std::string EstimatorKey(EstimatorKind kind) { return TraitsOf(kind).key; }

std::optional<EstimatorKind> EstimatorOfKey(absl::string_view key) {
  for (const EstimatorKind kind : kEstimatorKinds) {
    if (TraitsOf(kind).key == key) return kind;
  }
  return std::nullopt;
}

std::string EstimatorName(EstimatorKind kind) { return TraitsOf(kind).name; }

bool NeedsModel(EstimatorKind kind) { return TraitsOf(kind).needs_model; }

bool IsBiased(EstimatorKind kind) { return TraitsOf(kind).is_biased; }

bool IsFittedToRewards(EstimatorKind kind) {
  return kind == EstimatorKind::kBlendedDr ||
         kind == EstimatorKind::kControlledIps || !ParametersOf(kind).empty();
}

Estimator DefaultEstimator(bool has_model) {
  return {has_model ? EstimatorKind::kBlendedDr
                    : EstimatorKind::kSelfNormalised};
}

std::vector<double> ParametersOf(EstimatorKind kind) {
  switch (kind) {
    case EstimatorKind::kClipped:
    case EstimatorKind::kClippedDr:
    case EstimatorKind::kSwitch:
      return {std::begin(kClips), std::end(kClips)};
    case EstimatorKind::kOptimisticDr:
      return {std::begin(kShrinkages), std::end(kShrinkages)};
    case EstimatorKind::kLogSmoothed:
    case EstimatorKind::kSubGaussian:
      return {std::begin(kSmoothings), std::end(kSmoothings)};
    default:
      return {};
  }
}

}  // namespace sortition
