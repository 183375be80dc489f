#include "core/counterfactual/evaluation/intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/counterfactual/confidence/bootstrap.h"
#include "core/counterfactual/confidence/empirical_likelihood.h"
#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/evaluation/value_bounds.h"

namespace sortition {
namespace {

using Of = IntervalTask::Of;

constexpr IntervalKind kIntervalKinds[] = {IntervalKind::kStudent,
                                           IntervalKind::kBootstrap,
                                           IntervalKind::kEmpiricalLikelihood,
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
              "has its limiting distribution."};
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

Bounds BoundsOf(const Interval& interval) {
  return {interval.lower, interval.upper};
}

std::optional<Bounds> StudentBounds(const IntervalTask& task,
                                    const RatioEstimate& estimate) {
  if (!std::isfinite(estimate.standard_error)) return std::nullopt;
  const double slack =
      StudentQuantile((1 + task.confidence) / 2, estimate.num_groups - 1) *
      estimate.standard_error;
  return Bounds{estimate.value - slack, estimate.value + slack};
}

// Estimators whose point is to use more than the weights that were seen: their
// likelihood has full support among its assumptions.
bool NeedsFullSupport(const IntervalTask& task) {
  switch (task.estimator.kind) {
    case EstimatorKind::kControlledIps:
    case EstimatorKind::kBalanced:
    case EstimatorKind::kWeighted:
    case EstimatorKind::kMarginalised:
      return task.of != Of::kLogged;
    default:
      return false;
  }
}

std::optional<Bounds> LikelihoodOfEstimate(const IntervalTask& task,
                                           std::span<const Ratio> ratios) {
  const GroupSums& sums = task.sums->sums();
  LikelihoodTask likelihood;
  likelihood.blocks = MakeBlocks(sums, ratios, kMostBlocks);
  if (task.estimator.kind == EstimatorKind::kControlledIps &&
      task.of != Of::kGainOverPolicy) {
    const Ratio weight = task.sums->MeanWeight(task.policy);
    const RatioBlocks blocks =
        MakeBlocks(sums, std::span(&weight, 1), kMostBlocks);
    likelihood.zero_mean = blocks[0].numerator;
    for (size_t b = 0; b < likelihood.zero_mean.size(); ++b) {
      likelihood.zero_mean[b] -= blocks[0].denominator[b];
    }
  }
  likelihood.least = RangeOf(task).lower;
  likelihood.most = RangeOf(task).upper;
  const std::optional<Interval> interval =
      EmpiricalLikelihoodInterval(likelihood, task.confidence);
  if (!interval.has_value()) return std::nullopt;
  return BoundsOf(*interval);
}

// The means of these are between the bounds of the value, or the gain.
std::vector<Ratio> OneSidedRatios(const IntervalTask& task) {
  const SumFunction count = task.sums->LoggedReward().denominator;
  OneSidedSums terms = OneSidedSumsOf(task);
  return {{std::move(terms.above), count}, {std::move(terms.below), count}};
}

std::optional<Bounds> LikelihoodBounds(const IntervalTask& task,
                                       std::span<const Ratio> ratios) {
  if (NeedsFullSupport(task)) return LikelihoodOfEstimate(task, ratios);
  const OneSidedSums terms = OneSidedSumsOf(task);
  double lower[2] = {};
  for (size_t side = 0; side < 2; ++side) {
    const Ratio ratio = OneSidedRatios(task)[side];
    LikelihoodTask likelihood;
    likelihood.blocks =
        MakeBlocks(task.sums->sums(), std::span(&ratio, 1), kMostBlocks);
    likelihood.least = -terms.least;
    // Only the lower end is wanted.
    likelihood.most = likelihood.least;
    const std::optional<Interval> interval =
        EmpiricalLikelihoodInterval(likelihood, task.confidence);
    if (!interval.has_value()) return std::nullopt;
    lower[side] = interval->lower;
  }
  return Bounds{lower[0], terms.top - lower[1]};
}

std::optional<Bounds> MakeBounds(const IntervalTask& task, IntervalKind kind,
                                 std::span<const Ratio> ratios,
                                 const RatioEstimate& estimate) {
  // No estimate without ratios; bounds of the value itself do without.
  if (ratios.empty() && !HoldsForEverySize(kind)) return std::nullopt;
  switch (kind) {
    case IntervalKind::kStudent:
      return StudentBounds(task, estimate);
    case IntervalKind::kBootstrap: {
      const std::optional<Interval> interval =
          BootstrapInterval(MakeBlocks(task.sums->sums(), ratios, kMostBlocks),
                            task.confidence, task.seed);
      if (!interval.has_value()) return std::nullopt;
      return BoundsOf(*interval);
    }
    case IntervalKind::kEmpiricalLikelihood:
      return LikelihoodBounds(task, ratios);
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

// Weights far from 1 on average: actions are missing, or were not seen yet.
bool HasMeanWeightOne(const PolicySums& sums, size_t policy) {
  const Ratio weight = sums.MeanWeight(policy);
  const RatioEstimate mean = EstimateRatios(sums.sums(), std::span(&weight, 1));
  return std::fabs(mean.value - 1) <= 2 * mean.standard_error + 1e-9;
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
  const std::vector<Ratio> ratios = RatiosOf(task);
  const RatioEstimate estimate = EstimateRatios(task.sums->sums(), ratios);
  std::optional<Bounds> bounds = MakeBounds(task, kind, ratios, estimate);
  if (!bounds.has_value()) return std::nullopt;
  const Bounds range = RangeOf(task);
  JudgedInterval judged = {{}, estimate.standard_error, kind};
  judged.contradicts_itself = bounds->lower > bounds->upper;
  if (judged.contradicts_itself) bounds = range;
  judged.interval = {estimate.value,
                     std::clamp(bounds->lower, range.lower, range.upper),
                     std::clamp(bounds->upper, range.lower, range.upper)};
  if (!ratios.empty()) Contain(estimate.value, &judged.interval);
  return judged;
}

JudgedInterval BestInterval(const IntervalTask& task) {
  const EstimatorKind estimator = task.estimator.kind;
  const bool is_logged = task.of == Of::kLogged;
  const auto exact = MakeInterval(task, IntervalKind::kClopperPearson);
  if (exact && (is_logged ||
                (estimator == EstimatorKind::kIps && HasKnownWeight(task)))) {
    return *exact;
  }
  if (IsNearlyNormal(task)) {
    const auto likelihood =
        MakeInterval(task, IntervalKind::kEmpiricalLikelihood);
    if (likelihood) return *likelihood;
  }
  if (exact && (estimator == EstimatorKind::kIps ||
                estimator == EstimatorKind::kSelfNormalised)) {
    return *exact;
  }
  return *MakeInterval(task, IntervalKind::kBetting);
}

bool IsNearlyNormal(const IntervalTask& task) {
  constexpr double kFewestEffective = 50;
  const bool needs_full_support = NeedsFullSupport(task);
  std::vector<size_t> policies;
  if (task.of != Of::kLogged) policies.push_back(task.policy);
  if (task.of == Of::kGainOverPolicy) policies.push_back(task.other);
  for (const size_t policy : policies) {
    if (task.sums->EffectiveSampleSize(policy) < kFewestEffective ||
        (needs_full_support && !HasMeanWeightOne(*task.sums, policy))) {
      return false;
    }
  }
  const GroupSums& sums = task.sums->sums();
  if (needs_full_support) return IsNearlyNormal(sums, RatiosOf(task));
  const std::vector<Ratio> sides = OneSidedRatios(task);
  return IsNearlyNormal(sums, std::span(&sides[0], 1)) &&
         IsNearlyNormal(sums, std::span(&sides[1], 1));
}

}  // namespace sortition
