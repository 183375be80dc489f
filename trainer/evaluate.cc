#include "trainer/evaluate.h"

#include <vector>

#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/loss_scaling.h"

namespace sortition {
namespace {

struct Weighted {
  std::vector<double> rewards;  // In [0, 1].
  std::vector<double> log_weights;
};

absl::StatusOr<Weighted> Weigh(const EvaluationTask& task,
                               std::span<const BanditTuple> tuples) {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(task.family, tuples));
  Weighted weighted;
  weighted.rewards.reserve(tuples.size());
  weighted.log_weights.reserve(tuples.size());
  for (size_t i = 0; i < tuples.size(); ++i) {
    weighted.rewards.push_back(policy.reward(i));
    weighted.log_weights.push_back(policy.LogWeight(*task.parameters, i));
  }
  return weighted;
}

// `offset` is reward_min for rewards, 0 for differences of them.
void Store(const Interval& interval, double offset, const EvaluationTask& task,
           model::v1::Estimate* estimate) {
  const double range = task.reward_max - task.reward_min;
  estimate->set_value(offset + range * interval.value);
  estimate->set_lower(offset + range * interval.lower);
  estimate->set_upper(offset + range * interval.upper);
  estimate->set_confidence(task.confidence);
}

}  // namespace

absl::StatusOr<model::v1::Evaluation> EvaluatePolicy(
    const EvaluationTask& task) {
  ASSIGN_OR_RETURN(const Weighted validation, Weigh(task, task.validation));
  ASSIGN_OR_RETURN(const Weighted test, Weigh(task, task.test));
  const double clip =
      ChooseEvaluationClip(validation.rewards, validation.log_weights,
                           test.rewards.size(), task.confidence);
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < test.rewards.size(); ++i) {
    estimator.Add(test.rewards[i], test.log_weights[i]);
  }
  const OffPolicyEstimates estimates = estimator.Estimate(task.confidence);

  model::v1::Evaluation evaluation;
  Store(estimates.logging, task.reward_min, task,
        evaluation.mutable_logging_reward());
  Store(estimates.ips, task.reward_min, task, evaluation.mutable_ips_reward());
  Store(estimates.snips, task.reward_min, task,
        evaluation.mutable_snips_reward());
  Store(estimates.improvement, 0, task, evaluation.mutable_improvement());
  evaluation.set_effective_sample_size(estimates.effective_sample_size);
  evaluation.set_clipped_fraction(estimates.clipped_fraction);
  evaluation.set_clip(clip);
  evaluation.set_validation_tuples(task.validation.size());
  evaluation.set_test_tuples(task.test.size());
  return evaluation;
}

}  // namespace sortition
