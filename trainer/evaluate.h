#pragma once
// The numbers that the gate looks at: a trained policy against the logging
// policy, on tuples that neither training nor selection has seen.
#include <vector>

#include "Eigen/Core"
#include "core/counterfactual/tuple_policy.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct EvaluationTask {
  const Eigen::VectorXd& parameters;
  TuplePolicy* validation = nullptr;  // Chooses the clip only.
  TuplePolicy* test = nullptr;
  double confidence = 0.95;
  double reward_min = 0;
  double reward_max = 1;
};

// Estimates in the units of the rewards; counts, grid, promoted and verdict are
// the caller's. The clip is the one that promises the tightest lower bound of
// the improvement on the validation tuples (ChooseEvaluationClip).
model::v1::Evaluation EvaluatePolicy(const EvaluationTask& task);

// log(h_w(y|x) / p) of every tuple.
std::vector<double> LogWeights(const Eigen::VectorXd& parameters,
                               TuplePolicy* policy);

// Observed, in [0, 1].
std::vector<double> Rewards(const TuplePolicy& policy);

}  // namespace sortition
