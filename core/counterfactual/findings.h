#pragma once
// Explains the overlap of a policy with a log to somebody who has to decide
// whether to trust an estimate: one plain sentence for each problem that was
// found [SwaminathanJoachims15, sec. 4.5: when is counterfactual learning
// possible?].
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/counterfactual/diagnostics.h"

namespace sortition {

// The most serious kinds come first, except that kNoFullSupport may have either
// of two gravities.
enum class FindingKind {
  kWrongPropensities,  // They are inconsistent: no interval holds.
  kDeterministicLog,   // Nearly all actions had no alternative.
  kFewTuplesDecide,    // A handful of tuples has half of the weight.
  kFewEffectiveTuples,
  kNoFullSupport,        // Logging policies excluded some actions.
  kMissingSupport,       // Most of what the policy does was never logged.
  kRepeatsTheLog,        // Propensity overfitting; training tuples only.
  kRarelyTried,          // Part of what the policy does was never logged.
  kShownOtherwise,       // The user saw something else.
  kClippedMass,          // Clipping removes much of the weight.
  kPartlyDeterministic,  // Many actions had no alternative.
  kOneLargeWeight,       // One tuple alone moves the estimate.
};
// Returns a stable name for use in programs, such as "few_tuples_decide".
absl::string_view FindingKindName(FindingKind kind);

enum class Gravity {
  kContradiction,  // The assumption of every interval is violated.
  kUnsupported,    // The log cannot support the estimate.
  kCaution,        // Worth knowing; the estimate is valid.
};

struct Finding {
  FindingKind kind = FindingKind::kOneLargeWeight;
  Gravity gravity = Gravity::kCaution;
  std::string sentence;
};

enum class TupleUse {
  kHeldOut,   // The policy was made without these tuples.
  kTraining,  // It was made from them, so its mean weight may not be 1.
};

// Whether the mean weight of `num_tuples` tuples is surely below half of what
// is expected of a policy that the log supports: what it does was never logged,
// or too rarely (kMissingSupport).
bool MissesSupport(const MeanWeight& weight, uint64_t num_tuples,
                   double expected);

// Returns the findings, most serious first and at most one of each kind.
std::vector<Finding> JudgeOverlap(const Overlap& overlap, TupleUse use);

}  // namespace sortition
