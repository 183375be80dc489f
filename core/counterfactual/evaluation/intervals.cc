#include "core/counterfactual/evaluation/intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/counterfactual/confidence/bootstrap.h"
#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/evaluation/support.h"
#include "core/counterfactual/evaluation/value_bounds.h"

namespace sortition {
namespace {

using Of = IntervalTask::Of;

constexpr IntervalKind kIntervalKinds[] = {IntervalKind::kStudent,
                                           IntervalKind::kBootstrap,
                                           IntervalKind::kEmpiricalLikelihood,
                                           IntervalKind::kBoundedLikelihood,
                                           IntervalKind::kClopperPearson,
                                           IntervalKind::kBernstein,
                                           IntervalKind::kBetting};

struct IntervalTraits {
  const char* key;
  const char* name;
  bool holds_for_every_size;
  const char* assumption;
};

IntervalTraits TraitsOf(IntervalKind kind) {
  switch (kind) {
    case IntervalKind::kStudent:
      return {"student", "Student's t", false,
              "Units are independent, and so many that the estimate is "
              "normally distributed."};
    case IntervalKind::kBootstrap:
      return {"bootstrap", "bootstrap by unit", false,
              "Units are independent, and so many that drawing from them is "
              "like drawing new ones."};
    case IntervalKind::kEmpiricalLikelihood:
      return {"empirical_likelihood", "empirical likelihood", false,
              "Units are independent, and so many that the likelihood ratio "
              "has its limiting distribution. What the log cannot judge counts "
              "with the worst reward."};
    case IntervalKind::kBoundedLikelihood:
      return {"bounded_likelihood", "likelihood with the largest weight", false,
              "Units are independent and resemble each other in size; few "
              "rewards and large weights cost half of the failure probability. "
              "What the log cannot judge counts with the worst reward."};
    case IntervalKind::kClopperPearson:
      return {"clopper_pearson", "Clopper-Pearson", true,
              "Decisions are independent, rewards are 0 or 1, and weights are "
              "0 or one value; holds for any number of decisions."};
    case IntervalKind::kBernstein:
      return {"bernstein", "empirical Bernstein", true,
              "Decisions are independent; holds for any number of them and "
              "any weights."};
    case IntervalKind::kBetting:
      return {"betting", "betting", true,
              "Units are independent; holds for any number of them, of any "
              "size, and any weights."};
  }
  return {"", "", false, ""};
}

// What is possible.
Bounds RangeOf(const IntervalTask& task) {
  const bool is_gain =
      task.of == Of::kGainOverLog || task.of == Of::kGainOverPolicy;
  return {is_gain ? -1.0 : 0.0, 1};
}

std::optional<Bounds> StudentBounds(const IntervalTask& task,
                                    const RatioEstimate& estimate) {
  if (!std::isfinite(estimate.standard_error)) return std::nullopt;
  const double slack =
      StudentQuantile((1 + task.confidence) / 2, estimate.num_groups - 1) *
      estimate.standard_error;
  return Bounds{estimate.value - slack, estimate.value + slack};
}

// By LikelihoodBound() or BoundedLikelihoodBound().
template <typename SideBound>
std::optional<Bounds> LikelihoodBounds(const IntervalTask& task,
                                       const Sides& sides,
                                       const SideBound& bound) {
  const GroupSums& sums = task.sums->sums();
  if (sums.num_used_groups() < kMinLikelihoodGroups) return std::nullopt;
  const Bounds range = RangeOf(task);
  const double failure = (1 - task.confidence) / 2;
  return Bounds{bound(sums, sides.above, range.lower, failure),
                -bound(sums, sides.below, -range.upper, failure)};
}

bool IsOfEstimate(IntervalKind kind) {
  return kind == IntervalKind::kStudent || kind == IntervalKind::kBootstrap;
}

bool IsOfSides(IntervalKind kind) {
  return kind == IntervalKind::kEmpiricalLikelihood ||
         kind == IntervalKind::kBoundedLikelihood;
}

// Returns the missing mass for the largest M; 0 if it is not known.
double MassWithoutWeights(const PolicySums& sums, size_t policy) {
  if (!sums.IsSupportKnown(policy)) return 0;
  return sums.MeanOf(sums.MissingMassOf(policy, kNumParameters - 1));
}

// Returns the missing mass that is charged. Intervals of the estimate are
// charged, on both sides, only for actions beyond the largest M, because they
// assume that all smaller weights were seen.
double ChargeOf(const IntervalTask& task, IntervalKind kind,
                const Sides& sides) {
  if (IsOfSides(kind)) return sides.missing_mass;
  if (!IsOfEstimate(kind) || task.of == Of::kLogged) return 0;
  return MassWithoutWeights(*task.sums, task.policy) +
         (task.of == Of::kGainOverPolicy
              ? MassWithoutWeights(*task.sums, task.other)
              : 0);
}

Bounds Widened(const Bounds& bounds, double slack) {
  return {bounds.lower - slack, bounds.upper + slack};
}

std::optional<Bounds> MakeBounds(const IntervalTask& task, IntervalKind kind,
                                 const Sides& sides,
                                 std::span<const Ratio> ratios,
                                 const RatioEstimate& estimate) {
  // No estimate without ratios; bounds of the value itself do without.
  if (ratios.empty() && !HoldsForEverySize(kind)) return std::nullopt;
  const double charge = ChargeOf(task, kind, sides);
  switch (kind) {
    case IntervalKind::kStudent: {
      const std::optional<Bounds> bounds = StudentBounds(task, estimate);
      if (!bounds.has_value()) return std::nullopt;
      return Widened(*bounds, charge);
    }
    case IntervalKind::kBootstrap: {
      const std::optional<Interval> interval =
          BootstrapInterval(MakeBlocks(task.sums->sums(), ratios, kMostBlocks),
                            task.confidence, task.seed);
      if (!interval.has_value()) return std::nullopt;
      return Widened({interval->lower, interval->upper}, charge);
    }
    case IntervalKind::kEmpiricalLikelihood:
      return LikelihoodBounds(task, sides, LikelihoodBound);
    case IntervalKind::kBoundedLikelihood:
      return LikelihoodBounds(task, sides, BoundedLikelihoodBound);
    case IntervalKind::kClopperPearson:
      return ClopperPearsonBounds(task);
    case IntervalKind::kBernstein:
      return BernsteinBounds(task);
    case IntervalKind::kBetting:
      return BettingBounds(task);
  }
  return std::nullopt;
}

// An estimate outside of its own interval would say two things at once.
void Contain(double value, Interval* interval) {
  interval->value = value;
  interval->lower = std::min(interval->lower, value);
  interval->upper = std::max(interval->upper, value);
}

// Returns JudgedInterval.lower_error.
double LowerErrorOf(const IntervalTask& task, const JudgedInterval& judged,
                    const Sides& sides) {
  if (IsOfSides(judged.kind)) {
    return EstimateRatios(task.sums->sums(), std::span(&sides.above.mean, 1))
        .standard_error;
  }
  if (!HoldsForEverySize(judged.kind)) return judged.standard_error;
  IntervalTask ips = task;
  ips.estimator = {EstimatorKind::kIps};
  return EstimateRatios(task.sums->sums(), RatiosOf(ips)).standard_error;
}

// `sides` are those of the task. Kinds other than likelihood ignore them.
std::optional<JudgedInterval> MakeBy(const IntervalTask& task,
                                     IntervalKind kind, const Sides& sides) {
  const std::vector<Ratio> ratios = RatiosOf(task);
  const RatioEstimate estimate = EstimateRatios(task.sums->sums(), ratios);
  std::optional<Bounds> bounds =
      MakeBounds(task, kind, sides, ratios, estimate);
  if (!bounds.has_value()) return std::nullopt;
  const Bounds range = RangeOf(task);
  JudgedInterval judged = {{}, estimate.standard_error, kind};
  judged.contradicts_itself = bounds->lower > bounds->upper;
  if (judged.contradicts_itself) bounds = range;
  const auto possible = [&](double x) {
    return std::clamp(x, range.lower, range.upper);
  };
  judged.interval = {estimate.value, possible(bounds->lower),
                     possible(bounds->upper)};
  if (!ratios.empty()) {
    const Interval unmoved = judged.interval;
    if (!(unmoved.lower <= unmoved.value && unmoved.value <= unmoved.upper)) {
      judged.unmoved = unmoved;
    }
    Contain(possible(estimate.value), &judged.interval);
  }
  judged.lower_error = LowerErrorOf(task, judged, sides);
  judged.missing_mass = ChargeOf(task, kind, sides);
  return judged;
}

}  // namespace

std::span<const IntervalKind> AllIntervalKinds() { return kIntervalKinds; }

std::string IntervalKey(IntervalKind kind) { return TraitsOf(kind).key; }

std::optional<IntervalKind> IntervalOfKey(absl::string_view key) {
  for (const IntervalKind kind : kIntervalKinds) {
    if (TraitsOf(kind).key == key) return kind;
  }
  return std::nullopt;
}

std::string IntervalName(IntervalKind kind) { return TraitsOf(kind).name; }

bool HoldsForEverySize(IntervalKind kind) {
  return TraitsOf(kind).holds_for_every_size;
}

std::string AssumptionOf(IntervalKind kind) {
  return TraitsOf(kind).assumption;
}

std::string OutsideText(const JudgedInterval& judged, absl::string_view name,
                        double scale, double offset) {
  if (!judged.unmoved.has_value()) return "";
  return absl::StrFormat(
      "The estimate of the %s, %.4g, is outside of the interval [%.4g, %.4g], "
      "which goes by other sums than the estimate: a few large weights decide "
      "the estimate, or the mean weight is not 1, as where decisions were "
      "selected by their reward. The interval that is shown was widened to "
      "contain it.",
      name, offset + scale * judged.unmoved->value,
      offset + scale * judged.unmoved->lower,
      offset + scale * judged.unmoved->upper);
}

std::vector<Ratio> RatiosOf(const IntervalTask& task) {
  const PolicySums& sums = *task.sums;
  switch (task.of) {
    case Of::kLogged:
      return {sums.LoggedReward()};
    case Of::kValue:
      return sums.RatiosOf(task.policy, task.estimator);
    case Of::kGainOverLog:
      return Difference(sums.RatiosOf(task.policy, task.estimator),
                        {sums.LoggedReward()});
    case Of::kGainOverPolicy:
      return Difference(sums.RatiosOf(task.policy, task.estimator),
                        sums.RatiosOf(task.other, task.estimator));
  }
  return {};
}

std::optional<JudgedInterval> MakeInterval(const IntervalTask& task,
                                           IntervalKind kind) {
  return MakeBy(task, kind, IsOfSides(kind) ? SidesOf(task) : Sides());
}

JudgedInterval BestInterval(const IntervalTask& task) {
  const EstimatorKind estimator = task.estimator.kind;
  const bool is_logged = task.of == Of::kLogged;
  const auto exact = MakeInterval(task, IntervalKind::kClopperPearson);
  if (exact && (is_logged ||
                (estimator == EstimatorKind::kIps && HasKnownWeight(task)))) {
    return *exact;
  }
  const Sides sides = SidesOf(task);
  if (sides.is_nearly_normal) {
    const auto likelihood =
        MakeBy(task, IntervalKind::kEmpiricalLikelihood, sides);
    if (likelihood) return *likelihood;
  }
  if (exact && (estimator == EstimatorKind::kIps ||
                estimator == EstimatorKind::kSelfNormalised)) {
    return *exact;
  }
  if (EffectiveGroups(task.sums->sums(),
                      task.sums->LoggedReward().denominator) >= kFewestGroups) {
    const auto bounded = MakeBy(task, IntervalKind::kBoundedLikelihood, sides);
    if (bounded) return *bounded;
  }
  return *MakeInterval(task, IntervalKind::kBetting);
}

}  // namespace sortition
