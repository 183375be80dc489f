#pragma once
// Estimates of a report from sums.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "trainer/ope/judgement.h"

namespace sortition {

// How estimates are made; the same for all policies.
struct EstimateStyle {
  double reward_min = 0;  // Of the rewards that are scaled to [0, 1].
  double reward_max = 1;
  double confidence = 0.95;
  std::optional<size_t> against = std::nullopt;  // Unset: the log.
  bool units_are_decisions = false;
  // Of IntervalTask, for GroupSums::kDefaultGroups.
  std::optional<double> largest_group = std::nullopt;
  std::optional<EstimatorKind> estimator = std::nullopt;  // Unset: automatic.
  std::optional<IntervalKind> interval = std::nullopt;    // Unset: the best.

  // InvalidArgument for an estimator or interval that there is not.
  static absl::StatusOr<EstimateStyle> Of(
      const config::v1::OpeOptions& options);

  double range() const { return reward_max - reward_min; }
};

// A policy in some sums.
struct EstimateTask {
  const PolicySums& sums;
  size_t policy = 0;
  Estimator estimator = {EstimatorKind::kIps};
};

// Returns the estimators whose assumptions and inputs are there.
std::vector<EstimatorKind> ApplicableKinds(const Judgement& judgement,
                                           size_t policy);

// Returns the estimator of this kind with its parameter, if it has one.
Estimator WithParameter(const PolicySums& sums, size_t policy,
                        EstimatorKind kind, double confidence);

// Returns the estimate with intervals of a kind, or else of the style's. A
// value or gain to which that kind does not apply has the best interval
// instead. The gain is unset for the policy that others are compared with.
config::v1::OpeEstimate MakeEstimate(const EstimateStyle& style,
                                     const EstimateTask& task,
                                     std::optional<IntervalKind> kind);

// Returns the estimate with the style's intervals, which are of the value,
// whatever the estimator. An estimator whose standard error does not include
// its bias has the reason in place of an interval.
config::v1::OpeEstimate MakeRow(const EstimateStyle& style,
                                const EstimateTask& task);

// Properties of the lower bound of the gain, in units of the reward.
struct GainBound {
  IntervalKind kind = IntervalKind::kStudent;
  double standard_error = 0;  // Infinite if not known.
};
GainBound LowerBoundOfGain(const EstimateStyle& style,
                           const EstimateTask& task);

// Returns the estimate with the style's intervals, over groups of neighbours
// instead of units.
config::v1::OpeEstimate MakeGrouped(EstimateStyle style,
                                    const EstimateTask& task);

// Returns the estimate with the style's intervals. If the policy is the one
// that logged, all weights are 1, and its gain over the log is 0 for certain:
// there is nothing to bet on.
config::v1::OpeEstimate MakeAnswer(const EstimateStyle& style,
                                   const EstimateTask& task, bool is_log);

// Returns the answer's value and gain by each kind of interval of the value
// that applies; kinds of the estimate (kStudent, kBootstrap) only where the
// style asks for them.
std::vector<config::v1::OpeEstimate> MakeIntervals(const EstimateStyle& style,
                                                   const EstimateTask& task);

// Whether bets bound the value, or the gain over the log, from below by more
// than from above: propensities are wrong.
bool BoundsContradictEachOther(const EstimateStyle& style,
                               const EstimateTask& task);

// Returns the mean reward of the log.
model::v1::Estimate LoggedEstimate(const EstimateStyle& style,
                                   const PolicySums& sums);

// Returns a sentence of what the estimator assumes.
std::string AssumptionOf(EstimatorKind kind);

}  // namespace sortition
