#include "core/counterfactual/findings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// A mean differs from 1 by so many standard errors: by chance once in three
// million reports (one tail of the normal). A positive variable with a long
// tail errs upwards even more rarely: what is large enlarges the error too.
constexpr double kStandardErrors = 5;
// Standard errors of fewer weights are guesses themselves.
constexpr uint64_t kFewestForMeans = 30;
// A mean that is surely above 1, but by less, moves no decision.
constexpr double kExcess = 1.05;
// Seen with right propensities in at most one of a million logs.
constexpr double kImpossible = 1e6;

// Of all tuples: what is left is too little to speak of the policy as a whole.
constexpr double kMostlyDeterministic = 0.9;
// A fifth of the tuples is lost; fewer show in the sample size well enough.
constexpr double kPartlyDeterministic = 0.2;

// The usual least number for a normal approximation of a mean: an estimate that
// half depends on fewer tuples has no known error.
constexpr uint64_t kFewestDecidingTuples = 30;
// Only where they are few among many; else the sample is small as a whole.
constexpr double kDecidingShare = 0.05;
// A reward in [0, 1] is known to ± 0.1 (two standard errors of at most 1/2).
constexpr double kFewestEffectiveTuples = 100;

// Most of the tuples, and as many as move an estimate at all.
constexpr double kMostlyNoFullSupport = 0.5;
constexpr double kSomeNoFullSupport = 0.01;

// More than half of what the policy does was not seen.
constexpr double kMissingMean = 0.5;
// A fifth was not seen, and counts as the worst reward.
constexpr double kRareMean = 0.8;
// The training objective promises a fifth too much.
constexpr double kRepeatingMean = 1.2;
// A tenth of the range of rewards may be missing from the estimate.
constexpr double kShownShare = 0.1;
constexpr double kClippedShare = 0.1;
// One tuple's reward moves the self-normalised estimate by that much.
constexpr double kLargeShare = 0.05;

// 20000 as "20,000".
std::string Grouped(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string Percent(double share) {
  return absl::StrFormat("%.3g %%", 100 * share);
}

std::string Text(const MeanWeight& mean) {
  return absl::StrFormat("%.3g ± %.2g", mean.value, mean.error);
}

bool SurelyAbove(const Overlap& overlap, const MeanWeight& mean, double level) {
  return overlap.num_tuples >= kFewestForMeans && mean.value > level &&
         mean.value - 1 > kStandardErrors * mean.error;
}

// What is 1 where every action that the policy takes was shown and could be
// logged: of what was not shown the weight is 0 whatever the policy.
double ExpectedWeight(const Overlap& overlap) {
  return 1 - overlap.shown_otherwise_fraction;
}

bool SurelyBelow(const Overlap& overlap, double level) {
  const double missing = ExpectedWeight(overlap) - overlap.weight.value;
  return overlap.num_tuples >= kFewestForMeans &&
         overlap.weight.value < level * ExpectedWeight(overlap) &&
         missing > kStandardErrors * overlap.weight.error;
}

// Of all kinds but kNoFullSupport.
Gravity GravityOf(FindingKind kind) {
  if (kind == FindingKind::kWrongPropensities) return Gravity::kContradiction;
  return kind <= FindingKind::kMissingSupport ? Gravity::kUnsupported
                                              : Gravity::kCaution;
}

class Judge {
 public:
  Judge(const Overlap& overlap, TupleUse use) : overlap_(overlap), use_(use) {}

  std::vector<Finding> Findings() {
    if (overlap_.num_tuples == 0) return {};
    Propensities();
    Determinism();
    Concentration();
    Support();
    MeanBelow();
    MeanAbove();
    Losses();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) {
                       return a.gravity != b.gravity ? a.gravity < b.gravity
                                                     : a.kind < b.kind;
                     });
    return std::move(findings_);
  }

 private:
  void Add(FindingKind kind, std::string sentence) {
    findings_.push_back({kind, GravityOf(kind), std::move(sentence)});
  }

  std::string CannotSupport() const {
    return use_ == TupleUse::kHeldOut
               ? "The log cannot support this estimate: "
               : "The log cannot support what was learned: ";
  }

  void Propensities() {
    constexpr auto kKind = FindingKind::kWrongPropensities;
    const std::string start = "The logged propensities cannot be right: ";
    const double n = static_cast<double>(overlap_.num_tuples);
    if (SurelyAbove(overlap_, overlap_.uniform_weight, kExcess)) {
      Add(kKind, absl::StrCat(start, "the weights of the uniform policy are ",
                              Text(overlap_.uniform_weight),
                              " in the mean, and can be 1 at most."));
    } else if (overlap_.largest_uniform_weight > kImpossible * n) {
      Add(kKind,
          absl::StrCat(start, "an action was drawn that was ",
                       absl::StrFormat("%.1e", overlap_.largest_uniform_weight),
                       " times less probable than by a fair lot, which "
                       "not one of a million such logs has."));
    } else if (use_ == TupleUse::kHeldOut &&
               SurelyAbove(overlap_, overlap_.weight, kExcess)) {
      Add(kKind, absl::StrCat(start, "the weights of the policy are ",
                              Text(overlap_.weight),
                              " in the mean, and can be 1 at most on tuples "
                              "that it was not made from."));
    }
  }

  void Determinism() {
    const double share = overlap_.deterministic_fraction;
    if (share >= kMostlyDeterministic) {
      Add(FindingKind::kDeterministicLog,
          absl::StrCat(CannotSupport(), "in ", Percent(share),
                       " of the tuples the logged action had propensity 1, and "
                       "nothing is known of any other."));
    } else if (share >= kPartlyDeterministic) {
      Add(FindingKind::kPartlyDeterministic,
          absl::StrCat("In ", Percent(share),
                       " of the tuples the logged action had propensity 1: "
                       "they tell nothing of any other."));
    }
  }

  // The gravest of what is the same trouble in three degrees.
  void Concentration() {
    if (overlap_.half_weight_tuples == 0) return;  // MeanBelow() says so.
    const double n = static_cast<double>(overlap_.num_tuples);
    const double deciding = static_cast<double>(overlap_.half_weight_tuples);
    if (overlap_.half_weight_tuples < kFewestDecidingTuples &&
        deciding / n < kDecidingShare) {
      const bool one = overlap_.half_weight_tuples == 1;
      Add(FindingKind::kFewTuplesDecide,
          absl::StrCat(CannotSupport(), Grouped(overlap_.half_weight_tuples),
                       " of ", Grouped(overlap_.num_tuples),
                       one ? " tuples carries" : " tuples carry",
                       " half of the weight."));
    } else if (overlap_.effective_sample_size < kFewestEffectiveTuples) {
      Add(FindingKind::kFewEffectiveTuples,
          absl::StrCat(CannotSupport(), "its ", Grouped(overlap_.num_tuples),
                       " tuples are worth ",
                       absl::StrFormat("%.3g", overlap_.effective_sample_size),
                       " drawn from the policy itself; it takes at least ",
                       kFewestEffectiveTuples, "."));
    } else if (overlap_.largest_share > kLargeShare) {
      Add(FindingKind::kOneLargeWeight,
          absl::StrCat("One of ", Grouped(overlap_.num_tuples),
                       " tuples carries ", Percent(overlap_.largest_share),
                       " of the weight: its reward alone moves the "
                       "self-normalised estimate by as much."));
    }
  }

  // Weights of 1 in the mean say that the policy keeps to what was logged; then
  // nothing is missing.
  void Support() {
    const double share = overlap_.without_full_support_fraction;
    if (share < kSomeNoFullSupport) return;
    const bool missing =
        overlap_.weight.value < kRareMean * ExpectedWeight(overlap_);
    const bool unsupported = share >= kMostlyNoFullSupport && missing;
    findings_.push_back(
        {FindingKind::kNoFullSupport,
         unsupported ? Gravity::kUnsupported : Gravity::kCaution,
         absl::StrCat(
             unsupported ? CannotSupport() : "", unsupported ? "in " : "In ",
             Percent(share),
             " of the tuples the policy that logged gave some actions "
             "probability 0; what the new one does of them (its weights are ",
             Text(overlap_.weight),
             " in the mean) counts as the worst reward, and the "
             "self-normalised estimate says nothing of it.")});
  }

  void MeanBelow() {
    const std::string mean = absl::StrCat(
        Text(overlap_.weight), " in the mean where ",
        absl::StrFormat("%.3g", ExpectedWeight(overlap_)), " is expected: ");
    if (SurelyBelow(overlap_, kMissingMean)) {
      Add(FindingKind::kMissingSupport,
          absl::StrCat(CannotSupport(), "its weights are ", mean,
                       "most of what the policy does was never, or too "
                       "rarely, logged."));
    } else if (SurelyBelow(overlap_, kRareMean)) {
      Add(FindingKind::kRarelyTried,
          absl::StrCat("The weights are ", mean,
                       "part of what the policy does was never, or too "
                       "rarely, logged, and counts as the worst reward."));
    }
  }

  void MeanAbove() {
    if (use_ != TupleUse::kTraining ||
        !SurelyAbove(overlap_, overlap_.weight, kRepeatingMean)) {
      return;
    }
    Add(FindingKind::kRepeatsTheLog,
        absl::StrCat("What was learned repeats the log: the weights of its "
                     "training tuples are ",
                     Text(overlap_.weight),
                     " in the mean where 1 is expected, and the training "
                     "objective promises too much."));
  }

  void Losses() {
    if (overlap_.shown_otherwise_fraction > kShownShare) {
      Add(FindingKind::kShownOtherwise,
          absl::StrCat("In ", Percent(overlap_.shown_otherwise_fraction),
                       " of the tuples something else than the action was "
                       "shown: there the policy counts as earning the "
                       "least."));
    }
    if (overlap_.clipped_mass > kClippedShare) {
      Add(FindingKind::kClippedMass,
          absl::StrCat("Clipping at ", absl::StrFormat("%.4g", overlap_.clip),
                       " takes ", Percent(overlap_.clipped_mass),
                       " of the weight away: the clipped estimate may be too "
                       "low by as much."));
    }
  }

  const Overlap& overlap_;
  const TupleUse use_;
  std::vector<Finding> findings_;
};

}  // namespace

absl::string_view FindingKindName(FindingKind kind) {
  switch (kind) {
    case FindingKind::kWrongPropensities:
      return "wrong_propensities";
    case FindingKind::kDeterministicLog:
      return "deterministic_log";
    case FindingKind::kFewTuplesDecide:
      return "few_tuples_decide";
    case FindingKind::kFewEffectiveTuples:
      return "few_effective_tuples";
    case FindingKind::kNoFullSupport:
      return "no_full_support";
    case FindingKind::kMissingSupport:
      return "missing_support";
    case FindingKind::kRepeatsTheLog:
      return "repeats_the_log";
    case FindingKind::kRarelyTried:
      return "rarely_tried";
    case FindingKind::kShownOtherwise:
      return "shown_otherwise";
    case FindingKind::kClippedMass:
      return "clipped_mass";
    case FindingKind::kPartlyDeterministic:
      return "partly_deterministic";
    case FindingKind::kOneLargeWeight:
      return "one_large_weight";
  }
  return "unknown";
}

std::vector<Finding> JudgeOverlap(const Overlap& overlap, TupleUse use) {
  return Judge(overlap, use).Findings();
}

}  // namespace sortition
