#pragma once
// Why a logged tuple is not used.
#include <string>

namespace sortition {

enum class LeftOutReason {
  // Any tuple.
  kOtherModel,
  kOtherVersion,
  kOtherAction,
  kOtherFeatures,
  kBadPropensity,
  kBadFeatures,
  kBadReward,
  kSeeded,
  // Selections, rankings and subsets.
  kBadAction,
  kAbstained,
  kOtherSize,
  kTooLarge,
  // Labels.
  kOtherLabels,
  kBadLabels,
  kTooManyWeights,
  kHeldOut,
  // Score lists to be grouped.
  kFewCandidates,
  kOtherSources,
  kNoCandidateIds,
  kBadCandidateIds,
  kOtherCandidates,
  kBadWeights,
  kBeyondMemory,
};

// Returns the reason in words: the key of `excluded` in reports.
std::string ReasonText(LeftOutReason reason);

}  // namespace sortition
