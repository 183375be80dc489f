#pragma once
// Intervals of values and of differences of values, by groups of units.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {

enum class IntervalKind {
  // Intervals of what the estimator estimates. They assume many units, and that
  // all large weights were seen. Missing mass (support.h) of weights above the
  // largest of kClips is charged on both sides, where it is known. See
  // confidence/.
  kStudent,    // Normal distribution, G - 1 degrees of freedom.
  kBootstrap,  // Groups drawn with replacement, studentised.
  // Interval of the value itself, whatever the estimator, even if the log lacks
  // support: bounds of the means of support.h by empirical likelihood. Assumes
  // many units.
  kEmpiricalLikelihood,
  // The same at half the failure probability, for few rewards or large weights:
  // the other half pays for the skewness of both. More is paid where the terms
  // that decide were hardly ever seen (CautiousLowerBound()).
  kBoundedLikelihood,
  // Intervals of the value itself for every number of units: value_bounds.h.
  kClopperPearson,
  kBernstein,
  kBetting,
};
std::span<const IntervalKind> AllIntervalKinds();

// A name for use in programs, such as "student": those of OpeOptions.interval.
std::string IntervalKey(IntervalKind kind);
std::optional<IntervalKind> IntervalOfKey(absl::string_view key);
// A name for people, such as "Student's t".
std::string IntervalName(IntervalKind kind);
// Whether it fails no more often than it says for any number of units.
bool HoldsForEverySize(IntervalKind kind);
// What it assumes, in a sentence.
std::string AssumptionOf(IntervalKind kind);

struct IntervalTask {
  const PolicySums* sums = nullptr;
  size_t policy = 0;
  enum class Of {
    kValue,
    kGainOverLog,     // Minus the mean reward of the log, paired.
    kGainOverPolicy,  // Minus the value of the policy `other`, paired.
    kLogged,          // The mean reward of the log itself.
  } of = Of::kValue;
  size_t other = 0;
  Estimator estimator = {EstimatorKind::kIps};
  double confidence = 0.95;  // In (0, 1).
  uint64_t seed = 0;         // Of the bootstrap.
  // Every unit has one decision, so that decisions are independent. Intervals
  // by decision, kClopperPearson and kBernstein, apply only then.
  bool units_are_decisions = false;
  // How much the largest group could count, whatever its units did
  // (UnitSizes::LargestGroup): kBetting needs it where units have several
  // decisions. Unset: sizes of groups say nothing about what is in them, as
  // where units are decisions, and the largest that was seen is taken.
  std::optional<double> largest_group = std::nullopt;
};

struct JudgedInterval {
  // The value is the estimator's. It and the bounds are cut to what is
  // possible: values are in [0, 1], gains in [-1, 1]. Bounds are moved to the
  // value where that is outside, as an estimate may be of bounds that go by
  // another one.
  Interval interval;
  // Of the estimate, by groups; infinite with fewer than two.
  double standard_error = 0;
  IntervalKind kind = IntervalKind::kBetting;
  // Standard error of the mean that the lower bound is based on: Sides.above
  // for kEmpiricalLikelihood and kBoundedLikelihood, IPS for the exact kinds,
  // otherwise the estimate. Infinite with fewer than two groups.
  double lower_error = 0;
  // Missing mass that is charged with the worst reward, in [0, 1] for each
  // policy: of the policy, plus that of `other` for kGainOverPolicy. 0 if the
  // kind of interval does not use it.
  double missing_mass = 0;
  // The lower bound is above the upper one: propensities are wrong, but for a
  // chance smaller than 1 - confidence. The interval is then all that is
  // possible.
  bool contradicts_itself = false;
  // Set if the estimate was outside of the bounds, or of what is possible: the
  // estimate and the bounds before they were cut and moved to each other.
  std::optional<Interval> unmoved = std::nullopt;
};

// Returns a sentence that says that the estimate was outside of its interval;
// empty if it was not. Numbers are `scale` times those of the interval, plus
// `offset`; `name` is what is estimated, such as "value".
std::string OutsideText(const JudgedInterval& judged, absl::string_view name,
                        double scale, double offset);

// The task's estimate as ratios of sums.
std::vector<Ratio> RatiosOf(const IntervalTask& task);

// Returns the interval of that kind; nullopt if it does not apply.
std::optional<JudgedInterval> MakeInterval(const IntervalTask& task,
                                           IntervalKind kind);

// Returns the tightest interval that is valid for the case. It is chosen by
// what is known beforehand of the kinds, not by the width that each happened to
// have: the narrowest of several fails more often than each of them. No kind
// that is chosen assumes full support.
//  - kClopperPearson of the log where it applies, and of IPS where it is exact
//    (HasKnownWeight()).
//  - otherwise kEmpiricalLikelihood, if there are enough units for it
//    (Sides::is_nearly_normal).
//  - otherwise kClopperPearson of kIps and kSelfNormalised where it applies.
//  - otherwise kBoundedLikelihood, if EffectiveGroups() is at least 50.
//  - otherwise kBetting.
JudgedInterval BestInterval(const IntervalTask& task);

}  // namespace sortition
