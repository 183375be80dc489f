#pragma once
// Reasons why a logged tuple is not used.
#include <string>

namespace sortition {

enum class LeftOutReason {
  // For any tuple.
  kSeenBefore,
  kOtherJoin,
  kOtherModel,
  kOtherVersion,
  kOtherTime,
  kCensored,
  kBadKeepProbability,
  kThinned,
  kOtherAction,
  kOtherFeatures,
  kColumns,
  kBadPropensity,
  kBadFeatures,
  kBadReward,
  kRewardOutside,
  kSeeded,
  kAggregated,
  kTooNew,
  kTooOld,
  // For selections, rankings and subsets.
  kBadAction,
  kAbstained,
  kOtherSize,
  kTooLarge,
  // For labels.
  kOtherLabels,
  kBadLabels,
  kTooManyWeights,
  kHeldOut,
  // For score lists to be grouped.
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
