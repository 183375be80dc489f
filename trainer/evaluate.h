#pragma once
// The numbers that the gate looks at: a trained policy against the logging
// policy, on tuples that neither training nor selection has seen.
#include <span>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/bandit_tuple.h"
#include "core/learners/linear_tuple_policy.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct EvaluationTask {
  LinearFamily family;
  const Eigen::VectorXd* parameters = nullptr;
  std::span<const BanditTuple> validation;  // Chooses the clip only.
  std::span<const BanditTuple> test;
  double confidence = 0.95;
  double reward_min = 0;
  double reward_max = 1;
};

// Estimates in the units of the rewards; counts, grid, promoted and verdict are
// the caller's. The clip is the one that promises the tightest lower bound of
// the improvement on the validation tuples (ChooseEvaluationClip).
absl::StatusOr<model::v1::Evaluation> EvaluatePolicy(
    const EvaluationTask& task);

}  // namespace sortition
