#include "trainer/offpolicy/guardrails.h"

#include <utility>

#include "core/base/check.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "core/counterfactual/evaluation/unit_sizes.h"

namespace sortition {
namespace {

// Returns the change of a reward, scaled to [0, 1]. Most guarded rewards are 0
// nearly always, and 0 becomes 1 if they are complaints: without the control
// variate, the noise of the weights alone would be larger than any complaint.
Interval ChangeOf(const std::vector<double>& scaled, const WeightedTuples& test,
                  double largest_unit, double confidence) {
  UnitSizes sizes;
  for (const uint64_t unit : test.units) sizes.Add(unit);
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (size_t i = 0; i < test.size(); ++i) {
    const JudgedDecision judged = {.log_weight = test.log_weights[i]};
    sums.Add(test.units[i], sizes.ShareOf(test.units[i], largest_unit),
             scaled[i], {&judged, 1});
  }
  return BestInterval(
             {.sums = &sums,
              .of = IntervalTask::Of::kGainOverLog,
              .estimator = {EstimatorKind::kControlledIps},
              .confidence = confidence,
              .units_are_decisions =
                  largest_unit <= 1 && NumUnits(test.units) == test.size(),
              .largest_group =
                  sizes.LargestGroup(GroupSums::kDefaultGroups, largest_unit)})
      .interval;
}

// The test tuples whose outcome is known.
struct KnownOutcomes {
  std::vector<double> scaled;  // Rewards, in [0, 1].
  WeightedTuples tuples;
};

// Requires a reward with a range.
KnownOutcomes KnownOutcomesOf(const GuardedReward& reward,
                              const WeightedTuples& test) {
  KnownOutcomes known;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < test.size(); ++i) {
    if (!reward.of_test[i].has_value()) continue;
    indexes.push_back(i);
    known.scaled.push_back((*reward.of_test[i] - reward.min) /
                           (reward.max - reward.min));
  }
  known.tuples = test.At(indexes);
  if (!known.tuples.log_drawn_weights.empty()) {
    known.tuples.log_weights = std::move(known.tuples.log_drawn_weights);
  }
  return known;
}

}  // namespace

std::vector<model::v1::Guardrail> JudgeGuardrails(
    const std::vector<GuardedReward>& rewards, const WeightedTuples& test,
    double largest_unit, double confidence) {
  std::vector<model::v1::Guardrail> guardrails;
  for (const GuardedReward& reward : rewards) {
    CHECK(reward.of_test.size() == test.size());
    model::v1::Guardrail& guardrail = guardrails.emplace_back();
    guardrail.set_reward(reward.name);
    guardrail.set_allowed(reward.allowed);
    model::v1::Estimate* change = guardrail.mutable_change();
    change->set_confidence(confidence);
    const double range = reward.max - reward.min;
    const bool can_judge = range > 0 && reward.num_judged() >= kFewestTuples;
    if (can_judge) {
      const KnownOutcomes known = KnownOutcomesOf(reward, test);
      const Interval interval =
          ChangeOf(known.scaled, known.tuples, largest_unit, confidence);
      change->set_value(range * interval.value);
      change->set_lower(range * interval.lower);
      change->set_upper(range * interval.upper);
    } else {
      // Nothing is known of how bad it is, or can be: rewards are in
      // [-1e9, 1e9].
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
