#include "trainer/tuples/scan/left_out.h"

#include "core/base/check.h"

namespace sortition {

std::string ReasonText(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::kSeenBefore:
      return "same decision twice";
    case LeftOutReason::kOtherJoin:
      return "rewards joined otherwise than the newest";
    case LeftOutReason::kOtherModel:
      return "other model";
    case LeftOutReason::kOtherVersion:
      return "other version";
    case LeftOutReason::kOtherTime:
      return "before since, or not before until";
    case LeftOutReason::kCensored:
      return "censored, feedback may be missing";
    case LeftOutReason::kBadKeepProbability:
      return "keep_probability not in (0, 1]";
    case LeftOutReason::kThinned:
      return "thinned to the smallest keep_probability";
    case LeftOutReason::kOtherAction:
      return "other kind of action";
    case LeftOutReason::kOtherFeatures:
      return "other number of features";
    case LeftOutReason::kColumns:
      return "named columns, but no feature spec (train: --features; ope: a "
             "stored policy)";
    case LeftOutReason::kBadPropensity:
      return "propensity not in (0, 1]";
    case LeftOutReason::kBadFeatures:
      return "malformed features";
    case LeftOutReason::kBadReward:
      return "reward not finite";
    case LeftOutReason::kRewardOutside:
      return "reward outside [reward_min, reward_max]";
    case LeftOutReason::kSeeded:
      return "drawn with the request's seed";
    case LeftOutReason::kAggregated:
      return "decided by Aggregate, beside the model's own decisions";
    case LeftOutReason::kTooNew:
      return "parts by time: of what trains, but not older than what validates "
             "and tests";
    case LeftOutReason::kTooOld:
      return "parts by time: of a unit that validates or tests, but too old";
    case LeftOutReason::kBadAction:
      return "malformed action";
    case LeftOutReason::kAbstained:
      return "abstained, which what is trained cannot";
    case LeftOutReason::kOtherSize:
      return "subset of fixed size among those of any, or the reverse";
    case LeftOutReason::kTooLarge:
      return "subset too large to learn from";
    case LeftOutReason::kOtherLabels:
      return "other number of labels";
    case LeftOutReason::kBadLabels:
      return "labels out of range or not ascending";
    case LeftOutReason::kTooManyWeights:
      return "features times labels above 2^24";
    case LeftOutReason::kHeldOut:
      return "of another version, unit or context validates or tests";
    case LeftOutReason::kFewCandidates:
      return "fewer than 2 eligible candidates";
    case LeftOutReason::kOtherSources:
      return "other number of sources";
    case LeftOutReason::kNoCandidateIds:
      return "no candidate ids";
    case LeftOutReason::kBadCandidateIds:
      return "candidate ids that repeat, or not one for each candidate";
    case LeftOutReason::kOtherCandidates:
      return "other candidates than in most decisions";
    case LeftOutReason::kBadWeights:
      return "malformed weights";
    case LeftOutReason::kBeyondMemory:
      return "more scores than memory_mb holds";
  }
  CHECK(false);
  return "";
}

}  // namespace sortition
