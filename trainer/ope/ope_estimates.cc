#include "trainer/ope/ope_estimates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/slope.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using Of = IntervalTask::Of;

void Store(const EstimateStyle& style, const Interval& interval, double offset,
           model::v1::Estimate* stored) {
  stored->set_value(offset + style.range() * interval.value);
  stored->set_lower(offset + style.range() * interval.lower);
  stored->set_upper(offset + style.range() * interval.upper);
  stored->set_confidence(style.confidence);
}

// The style's largest group is one of GroupSums::kDefaultGroups. Sums of fewer
// groups have several of these in one.
std::optional<double> LargestGroup(const EstimateStyle& style,
                                   const GroupSums& sums) {
  if (!style.largest_group.has_value()) return std::nullopt;
  const double merged = static_cast<double>(GroupSums::kDefaultGroups) /
                        static_cast<double>(sums.num_groups());
  return *style.largest_group * std::max(1.0, merged);
}

std::optional<JudgedInterval> Make(const EstimateStyle& style,
                                   const EstimateTask& task, Of of,
                                   std::optional<IntervalKind> kind) {
  // The bootstrap draws the same for every policy, and in every run.
  constexpr uint64_t kSeed = 17;
  const IntervalTask interval{
      .sums = &task.sums,
      .policy = task.policy,
      .of = of,
      .other = style.against.value_or(0),
      .estimator = task.estimator,
      .confidence = style.confidence,
      .seed = kSeed,
      .units_are_decisions = style.units_are_decisions,
      .largest_group = LargestGroup(style, task.sums.sums())};
  if (!kind) return BestInterval(interval);
  return MakeInterval(interval, *kind);
}

// Notes that an estimate was outside of its interval, if it was.
void NoteOutside(const std::string& text, OpeEstimate* estimate) {
  if (text.empty()) return;
  absl::StrAppend(estimate->mutable_outside_interval(),
                  estimate->outside_interval().empty() ? "" : " ", text);
}

// Fills in the value if an interval of the kind applies.
void FillValue(const EstimateStyle& style, const EstimateTask& task,
               std::optional<IntervalKind> kind, OpeEstimate* estimate) {
  const auto value = Make(style, task, Of::kValue, kind);
  if (!value) return;
  Store(style, value->interval, style.reward_min, estimate->mutable_value());
  estimate->set_value_interval(IntervalKey(value->kind));
  NoteOutside(OutsideText(*value, "value", style.range(), style.reward_min),
              estimate);
  // A single group says nothing of the error.
  if (!std::isfinite(value->standard_error)) return;
  estimate->set_standard_error(style.range() * value->standard_error);
}

// Fills in the gain if an interval of the kind applies, unless the policy is
// the one that others are compared with.
void FillGain(const EstimateStyle& style, const EstimateTask& task,
              std::optional<IntervalKind> kind, OpeEstimate* estimate) {
  if (style.against == task.policy) return;
  const auto gain =
      Make(style, task, style.against ? Of::kGainOverPolicy : Of::kGainOverLog,
           kind);
  if (!gain) return;
  Store(style, gain->interval, 0, estimate->mutable_gain());
  estimate->set_gain_interval(IntervalKey(gain->kind));
  NoteOutside(OutsideText(*gain, "gain", style.range(), 0), estimate);
  if (!std::isfinite(gain->standard_error)) return;
  estimate->set_gain_standard_error(style.range() * gain->standard_error);
}

// Returns true for biased estimators, except the blend: its weights minimise an
// error that includes the bias.
bool IgnoresBias(EstimatorKind kind) {
  return IsBiased(kind) && kind != EstimatorKind::kBlendedDr;
}

OpeEstimate Begin(const EstimateTask& task) {
  OpeEstimate estimate;
  estimate.set_estimator(EstimatorKey(task.estimator.kind));
  if (!ParametersOf(task.estimator.kind).empty()) {
    estimate.set_parameter(task.estimator.parameter);
  }
  return estimate;
}

template <typename Kinds, typename Key>
std::string Keys(const Kinds& kinds, Key key) {
  return absl::StrJoin(kinds, ", ", [&](std::string* out, auto kind) {
    out->append(key(kind));
  });
}

}  // namespace

absl::StatusOr<EstimateStyle> EstimateStyle::Of(
    const config::v1::OpeOptions& options) {
  EstimateStyle style{.reward_min = options.reward_min(),
                      .reward_max = options.reward_max(),
                      .confidence = options.confidence()};
  if (options.estimator() != "auto") {
    style.estimator = EstimatorOfKey(options.estimator());
    if (!style.estimator) {
      return absl::InvalidArgumentError(absl::StrCat(
          "estimator is '", options.estimator(), "', must be auto, ",
          Keys(AllEstimatorKinds(), EstimatorKey)));
    }
  }
  if (options.interval() != "auto") {
    style.interval = IntervalOfKey(options.interval());
    if (!style.interval) {
      return absl::InvalidArgumentError(
          absl::StrCat("interval is '", options.interval(), "', must be auto, ",
                       Keys(AllIntervalKinds(), IntervalKey)));
    }
  }
  return style;
}

std::vector<EstimatorKind> ApplicableKinds(const Judgement& judgement,
                                           size_t policy) {
  std::vector<EstimatorKind> kinds;
  for (const EstimatorKind kind : AllEstimatorKinds()) {
    if (kind == EstimatorKind::kMoreRobustDr) {
      if (!judgement.has_robust_model(policy)) continue;
    } else if (NeedsModel(kind) && !judgement.has_model(policy)) {
      continue;
    }
    if (kind == EstimatorKind::kBalanced && !judgement.has_balanced()) continue;
    if (kind == EstimatorKind::kWeighted && !judgement.has_strata()) continue;
    if (kind == EstimatorKind::kMarginalised &&
        !judgement.has_marginal(policy)) {
      continue;
    }
    kinds.push_back(kind);
  }
  return kinds;
}

Estimator WithParameter(const PolicySums& sums, size_t policy,
                        EstimatorKind kind, double confidence) {
  if (ParametersOf(kind).empty()) return {kind};
  return ChooseBySlope(sums, policy, kind, confidence);
}

OpeEstimate MakeEstimate(const EstimateStyle& style, const EstimateTask& task,
                         std::optional<IntervalKind> kind) {
  OpeEstimate estimate = Begin(task);
  if (!kind) {
    kind = style.interval;
    const bool is_of_estimate =
        kind == IntervalKind::kStudent || kind == IntervalKind::kBootstrap;
    if (is_of_estimate && IgnoresBias(task.estimator.kind)) kind.reset();
  }
  FillValue(style, task, kind, &estimate);
  FillGain(style, task, kind, &estimate);
  // An interval that was asked for need not apply, or to the value alone.
  if (!estimate.has_value()) FillValue(style, task, std::nullopt, &estimate);
  if (!estimate.has_gain()) FillGain(style, task, std::nullopt, &estimate);
  return estimate;
}

OpeEstimate MakeRow(const EstimateStyle& style, const EstimateTask& task) {
  OpeEstimate row = MakeEstimate(style, task, std::nullopt);
  if (!IgnoresBias(task.estimator.kind)) return row;
  row.set_value_alone(row.value().value());
  if (row.has_gain()) row.set_gain_alone(row.gain().value());
  row.clear_value();
  row.clear_gain();
  row.clear_value_interval();
  row.clear_gain_interval();
  row.clear_outside_interval();
  row.set_no_interval(
      "Its standard error says nothing of its bias, which the log cannot show "
      "in full: an interval by it would be too narrow, or in the wrong place.");
  return row;
}

GainBound LowerBoundOfGain(const EstimateStyle& style,
                           const EstimateTask& task) {
  const Of of = style.against ? Of::kGainOverPolicy : Of::kGainOverLog;
  std::optional<JudgedInterval> gain = Make(style, task, of, style.interval);
  if (!gain) gain = Make(style, task, of, std::nullopt);
  return {gain->kind, style.range() * gain->lower_error};
}

OpeEstimate MakeGrouped(EstimateStyle style, const EstimateTask& task) {
  style.largest_group = std::nullopt;
  style.units_are_decisions = false;
  return MakeEstimate(style, task, std::nullopt);
}

OpeEstimate MakeAnswer(const EstimateStyle& style, const EstimateTask& task,
                       bool is_log) {
  OpeEstimate answer = MakeEstimate(style, task, std::nullopt);
  if (is_log && !style.against) {
    const OpeEstimate same = MakeEstimate(style, task, IntervalKind::kStudent);
    *answer.mutable_gain() = same.gain();
    answer.set_gain_interval(same.gain_interval());
  }
  return answer;
}

std::vector<OpeEstimate> MakeIntervals(const EstimateStyle& style,
                                       const EstimateTask& task) {
  std::vector<OpeEstimate> estimates;
  for (const IntervalKind kind : AllIntervalKinds()) {
    const bool is_of_estimate =
        kind == IntervalKind::kStudent || kind == IntervalKind::kBootstrap;
    // These do not hold for the value of every policy and size of a log.
    if (is_of_estimate && style.interval != kind) continue;
    if (is_of_estimate && IgnoresBias(task.estimator.kind)) continue;
    OpeEstimate estimate = Begin(task);
    FillValue(style, task, kind, &estimate);
    FillGain(style, task, kind, &estimate);
    if (!estimate.has_value() && !estimate.has_gain()) continue;
    std::string assumes = AssumptionOf(kind);
    if (is_of_estimate && IsFittedToRewards(task.estimator.kind)) {
      assumes += " What the estimator fits to the rewards is taken for given.";
      if (IsBiased(task.estimator.kind)) {
        assumes += " The bias that it accepts for less variance is left out.";
      }
    }
    estimate.set_assumes(assumes);
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

bool BoundsContradictEachOther(const EstimateStyle& style,
                               const EstimateTask& task) {
  const auto contradicts = [&](Of of) {
    return Make(style, task, of, IntervalKind::kBetting)->contradicts_itself;
  };
  return contradicts(Of::kValue) ||
         (!style.against && contradicts(Of::kGainOverLog));
}

model::v1::Estimate LoggedEstimate(const EstimateStyle& style,
                                   const PolicySums& sums) {
  model::v1::Estimate stored;
  const auto logged =
      Make(style, {.sums = sums}, IntervalTask::Of::kLogged, std::nullopt);
  Store(style, logged->interval, style.reward_min, &stored);
  return stored;
}

std::string AssumptionOf(EstimatorKind kind) {
  switch (kind) {
    case EstimatorKind::kIps:
      return "The log could choose whatever the policy chooses.";
    case EstimatorKind::kControlledIps:
      return "The log could choose whatever the policy chooses; it is known "
             "then that weights are 1 on average, which takes noise away.";
    case EstimatorKind::kSelfNormalised:
      return "As IPS; its bias falls with the number of decisions.";
    case EstimatorKind::kClipped:
    case EstimatorKind::kLogSmoothed:
    case EstimatorKind::kSubGaussian:
      return "Large weights are made smaller: it is too low by what they had, "
             "which SLOPE keeps below the noise.";
    case EstimatorKind::kDirect:
      return "The model of rewards is right, and is right for actions that "
             "were rarely logged, too.";
    case EstimatorKind::kDoublyRobust:
    case EstimatorKind::kMoreRobustDr:
      return "As IPS; the model of rewards takes noise away and may be wrong.";
    case EstimatorKind::kSelfNormalisedDr:
      return "As doubly robust; its bias falls with the number of decisions.";
    case EstimatorKind::kBlendedDr:
      return "As doubly robust; where few large weights decide, the model of "
             "rewards is about as wrong as on the whole.";
    case EstimatorKind::kClippedDr:
    case EstimatorKind::kOptimisticDr:
    case EstimatorKind::kSwitch:
      return "Where weights are large, the model of rewards is right; the bias "
             "is kept below the noise, as far as it can be estimated.";
    case EstimatorKind::kBalanced:
      return "The logging versions together could choose whatever the policy "
             "chooses, and rewards do not change between them.";
    case EstimatorKind::kWeighted:
      return "Each logging version could choose whatever the policy chooses, "
             "and rewards do not change between them.";
    case EstimatorKind::kMarginalised:
      return "Actions of one category have the same reward.";
  }
  return "";
}

}  // namespace sortition
