#include "core/counterfactual/findings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// A mean must differ from 1 by this many standard errors. By chance this
// happens once in three million reports (one tail of the normal distribution).
// The mean of a positive variable with a long tail is too high even more
// rarely, since large values also increase the standard error.
constexpr double kStandardErrors = 5;
// With fewer weights their standard error is unreliable itself.
constexpr uint64_t kFewestForMeans = 30;
// A mean that is significantly above 1, but below this, changes no decision.
constexpr double kExcess = 1.05;
// With right propensities this happens in at most one of a million logs.
constexpr double kImpossible = 1e6;

// Share of deterministic tuples above which the others are too few to estimate
// the policy as a whole.
constexpr double kMostlyDeterministic = 0.9;
// A fifth of the tuples is useless. The sample size shows a smaller loss well
// enough.
constexpr double kPartlyDeterministic = 0.2;

// The usual minimum for a normal approximation of a mean. The error of an
// estimate that depends half on fewer tuples is unknown.
constexpr uint64_t kFewestDecidingTuples = 30;
// Only if they are a small share of the tuples; otherwise the whole sample is
// small.
constexpr double kDecidingShare = 0.05;
// With this many tuples a mean reward in [0, 1] is known to ± 0.1 (two standard
// errors of a variable whose deviation is at most 1/2).
constexpr double kFewestEffectiveTuples = 100;

// Shares of tuples without full support: half of them, and the least that
// affects an estimate noticeably.
constexpr double kMostlyNoFullSupport = 0.5;
constexpr double kSomeNoFullSupport = 0.01;

// More than half of what the policy does is missing from the log.
constexpr double kMissingMean = 0.5;
// A twentieth is missing from the log and counts as the worst reward, or
// propensities are that much too large.
constexpr double kRareMean = 0.95;
// The training objective is a fifth too optimistic.
constexpr double kRepeatingMean = 1.2;
// The estimate may be too low by a tenth of the range of rewards.
constexpr double kShownShare = 0.1;
constexpr double kClippedShare = 0.1;
// The reward of one tuple moves the self-normalised estimate by this much.
constexpr double kLargeShare = 0.05;

// Returns 20000 as "20,000".
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

// Returns the expected mean weight if the log supports every action of the
// policy. It is 1 if every logged action was shown; tuples whose action was not
// shown have weight 0 for any policy.
double ExpectedWeight(const Overlap& overlap) {
  return 1 - overlap.shown_otherwise_fraction;
}

bool SurelyBelow(const MeanWeight& weight, uint64_t num_tuples, double expected,
                 double level) {
  return num_tuples >= kFewestForMeans && weight.value < level * expected &&
         expected - weight.value > kStandardErrors * weight.error;
}

// Returns the gravity of any kind except kNoFullSupport.
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
      Add(kKind,
          absl::StrCat(start, "the mean weight of the uniform policy is ",
                       Text(overlap_.uniform_weight),
                       ", but it cannot exceed 1."));
    } else if (overlap_.largest_uniform_weight > kImpossible * n) {
      Add(kKind,
          absl::StrCat(start, "an action was drawn that was ",
                       absl::StrFormat("%.1e", overlap_.largest_uniform_weight),
                       " times less probable than under the uniform policy, "
                       "which happens in fewer than one of a million logs."));
    } else if (use_ == TupleUse::kHeldOut &&
               SurelyAbove(overlap_, overlap_.weight, kExcess)) {
      Add(kKind, absl::StrCat(start, "the mean weight of the policy is ",
                              Text(overlap_.weight),
                              ", but it cannot exceed 1 on tuples that the "
                              "policy was not made from."));
    }
  }

  void Determinism() {
    const double share = overlap_.deterministic_fraction;
    if (share >= kMostlyDeterministic) {
      Add(FindingKind::kDeterministicLog,
          absl::StrCat(CannotSupport(), "in ", Percent(share),
                       " of the tuples the logged action had propensity 1, and "
                       "nothing is known about any other action."));
    } else if (share >= kPartlyDeterministic) {
      Add(FindingKind::kPartlyDeterministic,
          absl::StrCat("In ", Percent(share),
                       " of the tuples the logged action had propensity 1: "
                       "they say nothing about any other action."));
    }
  }

  // Three findings are degrees of the same problem; adds the most serious one.
  void Concentration() {
    if (overlap_.half_weight_tuples == 0) return;  // MeanBelow() reports it.
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
                       " drawn from the policy itself; at least ",
                       kFewestEffectiveTuples, " are needed."));
    } else if (overlap_.largest_share > kLargeShare) {
      Add(FindingKind::kOneLargeWeight,
          absl::StrCat("One of ", Grouped(overlap_.num_tuples),
                       " tuples carries ", Percent(overlap_.largest_share),
                       " of the weight: its reward alone can move the "
                       "self-normalised estimate by that much."));
    }
  }

  // A mean weight of 1 means that the policy takes logged actions only; then no
  // support is missing.
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
             " of the tuples the logging policy gave some actions probability "
             "0; where the new policy takes such actions (its mean weight is ",
             Text(overlap_.weight),
             "), they count as the worst reward, and the self-normalised "
             "estimate ignores them.")});
  }

  void MeanBelow() {
    const double expected = ExpectedWeight(overlap_);
    const std::string mean =
        absl::StrCat(Text(overlap_.weight), " where ",
                     absl::StrFormat("%.3g", expected), " is expected: ");
    if (MissesSupport(overlap_.weight, overlap_.num_tuples, expected)) {
      Add(FindingKind::kMissingSupport,
          absl::StrCat(CannotSupport(), "the mean weight is ", mean,
                       "most of what the policy does was never logged, or too "
                       "rarely."));
    } else if (SurelyBelow(overlap_.weight, overlap_.num_tuples, expected,
                           kRareMean)) {
      Add(FindingKind::kRarelyTried,
          absl::StrCat("The mean weight is ", mean,
                       "part of what the policy does was never logged, or too "
                       "rarely, and counts as the worst reward; or the logged "
                       "propensities are too large."));
    }
  }

  void MeanAbove() {
    if (use_ != TupleUse::kTraining ||
        !SurelyAbove(overlap_, overlap_.weight, kRepeatingMean)) {
      return;
    }
    Add(FindingKind::kRepeatsTheLog,
        absl::StrCat("What was learned repeats the log: the mean weight of the "
                     "training tuples is ",
                     Text(overlap_.weight),
                     " where 1 is expected, so the training objective is too "
                     "optimistic."));
  }

  void Losses() {
    if (overlap_.shown_otherwise_fraction > kShownShare) {
      Add(FindingKind::kShownOtherwise,
          absl::StrCat("In ", Percent(overlap_.shown_otherwise_fraction),
                       " of the tuples something other than the action was "
                       "shown: they count as the worst reward for any "
                       "policy."));
    }
    if (overlap_.clipped_mass > kClippedShare) {
      Add(FindingKind::kClippedMass,
          absl::StrCat("Clipping at ", absl::StrFormat("%.4g", overlap_.clip),
                       " removes ", Percent(overlap_.clipped_mass),
                       " of the weight: the clipped estimate may be too low "
                       "by that much."));
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

bool MissesSupport(const MeanWeight& weight, uint64_t num_tuples,
                   double expected) {
  return SurelyBelow(weight, num_tuples, expected, kMissingMean);
}

std::vector<Finding> JudgeOverlap(const Overlap& overlap, TupleUse use) {
  return Judge(overlap, use).Findings();
}

}  // namespace sortition
