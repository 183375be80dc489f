#include "trainer/evaluate.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/counterfactual/estimators.h"
#include "core/counterfactual/loss_scaling.h"

namespace sortition {
namespace {

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

std::vector<double> LogWeights(const Eigen::VectorXd& parameters,
                               TuplePolicy* policy) {
  std::vector<double> log_weights(policy->num_tuples());
  std::vector<uint32_t> block;
  for (size_t begin = 0; begin < log_weights.size(); begin += block.size()) {
    block.resize(std::min(policy->block_size(), log_weights.size() - begin));
    std::iota(block.begin(), block.end(), static_cast<uint32_t>(begin));
    policy->LogProbabilities(
        parameters, block, std::span(log_weights).subspan(begin, block.size()));
  }
  for (size_t i = 0; i < log_weights.size(); ++i) {
    log_weights[i] -= policy->log_propensity(i);
  }
  return log_weights;
}

std::vector<double> Rewards(const TuplePolicy& policy) {
  std::vector<double> rewards(policy.num_tuples());
  for (size_t i = 0; i < rewards.size(); ++i) rewards[i] = policy.reward(i);
  return rewards;
}

model::v1::Evaluation EvaluatePolicy(const EvaluationTask& task) {
  const std::vector<double> rewards = Rewards(*task.test);
  const std::vector<double> log_weights =
      LogWeights(task.parameters, task.test);
  const double clip = ChooseEvaluationClip(
      Rewards(*task.validation), LogWeights(task.parameters, task.validation),
      rewards.size(), task.confidence);
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < rewards.size(); ++i) {
    estimator.Add(rewards[i], log_weights[i]);
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
  evaluation.set_validation_tuples(task.validation->num_tuples());
  evaluation.set_test_tuples(task.test->num_tuples());
  return evaluation;
}

}  // namespace sortition
