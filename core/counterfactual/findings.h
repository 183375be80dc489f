#pragma once
// What the overlap of a policy with a log says to somebody who has to decide:
// one plain sentence per finding, none where all is well
// [SwaminathanJoachims15, sec. 4.5: when is counterfactual learning possible?].
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/counterfactual/diagnostics.h"

namespace sortition {

// In order of gravity, but for kNoFullSupport, which may be either.
enum class FindingKind {
  kWrongPropensities,  // They contradict themselves: no interval holds.
  kDeterministicLog,   // Nearly all actions were the only one possible.
  kFewTuplesDecide,    // Half of the weight lies on a handful of tuples.
  kFewEffectiveTuples,
  kNoFullSupport,        // Policies that logged gave actions probability 0.
  kMissingSupport,       // Most of what the policy does was never logged.
  kRepeatsTheLog,        // Training tuples only: propensity overfitting.
  kRarelyTried,          // Part of what the policy does was never logged.
  kShownOtherwise,       // The user saw something else.
  kClippedMass,          // Clipping takes much of the weight away.
  kPartlyDeterministic,  // Many actions were the only one possible.
  kOneLargeWeight,       // One tuple moves the estimate.
};
// A stable name for programs, as "few_tuples_decide".
absl::string_view FindingKindName(FindingKind kind);

enum class Gravity {
  kContradiction,  // The premise of every interval is broken.
  kUnsupported,    // The log cannot support the estimate.
  kCaution,        // Worth knowing; the estimate stands.
};

struct Finding {
  FindingKind kind = FindingKind::kOneLargeWeight;
  Gravity gravity = Gravity::kCaution;
  std::string sentence;
};

enum class TupleUse {
  kHeldOut,   // The policy was made without these tuples.
  kTraining,  // It was made from them: its mean weight need not be 1.
};

// Gravest first, at most one of each kind.
std::vector<Finding> JudgeOverlap(const Overlap& overlap, TupleUse use);

}  // namespace sortition
