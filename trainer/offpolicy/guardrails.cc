#include "trainer/offpolicy/guardrails.h"

#include <utility>

#include "core/base/check.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "core/counterfactual/evaluation/unit_sizes.h"

namespace sortition {
namespace {

// Test tuples with a known outcome of one reward.
struct KnownOutcomes {
  std::vector<double> scaled;  // Rewards, in [0, 1].
  WeightedTuples tuples;
  std::vector<MissingMass> missing;  // By tuple; empty: not known.
};

// Requires a reward with a range.
KnownOutcomes KnownOutcomesOf(const GuardedReward& reward,
                              const GuardrailTask& task) {
  KnownOutcomes known;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < task.test.size(); ++i) {
    if (!reward.of_test[i].has_value()) continue;
    indexes.push_back(i);
    known.scaled.push_back((*reward.of_test[i] - reward.min) /
                           (reward.max - reward.min));
    if (!task.missing.empty()) known.missing.push_back(task.missing[i]);
  }
  known.tuples = task.test.At(indexes);
  if (!known.tuples.log_drawn_weights.empty()) {
    known.tuples.log_weights = std::move(known.tuples.log_drawn_weights);
  }
  return known;
}

// Returns the change of a reward, scaled to [0, 1]. Most guarded rewards are 0
// nearly always, and 0 becomes 1 if they are complaints: without the control
// variate, the noise of the weights alone would be larger than any complaint.
Interval ChangeOf(const KnownOutcomes& known, const GuardrailTask& task) {
  const WeightedTuples& tuples = known.tuples;
  UnitSizes sizes;
  for (const uint64_t unit : tuples.units) sizes.Add(unit);
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (size_t i = 0; i < tuples.size(); ++i) {
    JudgedDecision judged = {.log_weight = tuples.log_weights[i]};
    if (!known.missing.empty()) judged.missing = known.missing[i];
    sums.Add(tuples.units[i], sizes.ShareOf(tuples.units[i], task.largest_unit),
             known.scaled[i], {&judged, 1});
  }
  return BestInterval(
             {.sums = &sums,
              .of = IntervalTask::Of::kGainOverLog,
              .estimator = {EstimatorKind::kControlledIps},
              .confidence = task.confidence,
              .units_are_decisions = task.largest_unit <= 1 &&
                                     NumUnits(tuples.units) == tuples.size(),
              .largest_group = sizes.LargestGroup(GroupSums::kDefaultGroups,
                                                  task.largest_unit)})
      .interval;
}

}  // namespace

std::vector<model::v1::Guardrail> JudgeGuardrails(
    const std::vector<GuardedReward>& rewards, const GuardrailTask& task) {
  CHECK(task.missing.empty() || task.missing.size() == task.test.size());
  std::vector<model::v1::Guardrail> guardrails;
  for (const GuardedReward& reward : rewards) {
    CHECK(reward.of_test.size() == task.test.size());
    model::v1::Guardrail& guardrail = guardrails.emplace_back();
    guardrail.set_reward(reward.name);
    guardrail.set_allowed(reward.allowed);
    model::v1::Estimate* change = guardrail.mutable_change();
    change->set_confidence(task.confidence);
    const double range = reward.max - reward.min;
    const bool can_judge = range > 0 && reward.num_judged() >= kFewestTuples;
    if (can_judge) {
      const Interval interval = ChangeOf(KnownOutcomesOf(reward, task), task);
      change->set_value(range * interval.value);
      change->set_lower(range * interval.lower);
      change->set_upper(range * interval.upper);
    } else {
      // Neither the change nor the range is known; rewards are in [-1e9, 1e9].
      constexpr double kMostChange = 2e9;
      change->set_value(0);
      change->set_lower(-kMostChange);
      change->set_upper(kMostChange);
    }
    guardrail.set_holds(can_judge && change->lower() >= -reward.allowed);
  }
  return guardrails;
}

}  // namespace sortition
