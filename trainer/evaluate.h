#pragma once
// The numbers that the gate looks at: a trained policy against the logging
// policy, on tuples that neither training nor selection has seen; and what they
// are worth.
#include <span>
#include <string>

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
  // What the policy was learned from, M of the objective (infinity: none), and
  // how many policies were compared in validation. Empty and 0: unknown;
  // nothing is said of them.
  std::span<const BanditTuple> train = {};
  double train_clip = 1;
  size_t num_policies = 0;
  // Left out of the parts, as TupleData::impossible() says.
  uint64_t impossible_test = 0;
  uint64_t impossible_train = 0;
};

// Estimates in the units of the rewards, overlap, findings and bounds; counts,
// grid, promoted and verdict are the caller's. The clip is the one that
// promises the tightest lower bound of the improvement on the validation tuples
// (ChooseEvaluationClip).
//
// Bounds: Theorem 3 over the compared policies on the validation part and over
// the linear family on the training part, where the longest feature vector that
// was seen stands for the longest there can be; logarithmic smoothing on the
// test part, λ chosen in validation. Each fails with the probability of one
// side of an interval.
absl::StatusOr<model::v1::Evaluation> EvaluatePolicy(
    const EvaluationTask& task);

// The most probable action always, ties to the lower row: what softmax becomes
// as α grows without limit (seed 004, sec. 6.3). Estimates, overlap and
// findings of the test part.
absl::StatusOr<model::v1::Evaluation> EvaluateMap(const EvaluationTask& task);

// `verdict`, followed by the gravest sentence where the log contradicts itself
// or cannot support the estimates of the test part.
std::string WithReservation(std::string verdict,
                            const model::v1::Evaluation& evaluation);

// True where the logged propensities contradict themselves: the lower bound of
// the improvement then proves nothing, and the gate must not rely on it.
bool ContradictsItself(const model::v1::Evaluation& evaluation);

}  // namespace sortition
