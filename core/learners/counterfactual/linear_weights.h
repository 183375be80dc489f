#pragma once
// Weighs logged tuples for policies of selections, rankings and subsets.
#include <optional>
#include <span>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/bounds.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/weighted_tuples.h"

namespace sortition {

// Returns the weights of the policy as served. Tuples whose user saw something
// other than the action get weight 0, whatever the objective does with them;
// log_drawn_weights has the weights of their actions.
// Errors as LinearTuplePolicy::Create().
absl::StatusOr<WeightedTuples> WeighLinear(const LinearFamily& family,
                                           const Eigen::VectorXd& parameters,
                                           std::span<const BanditTuple> tuples);

// Returns the weights of the policy that always takes the most probable action,
// with ties going to the lower row. It is the limit of softmax for large α
// (seed 004, sec. 6.3).
absl::StatusOr<WeightedTuples> WeighMap(const LinearFamily& family,
                                        const Eigen::VectorXd& parameters,
                                        std::span<const BanditTuple> tuples);

// Returns the ball for WeightedParts.ball. There is none if a Boltzmann ranking
// has more candidates than its head, because its probabilities jump.
std::optional<LinearFamilyBall> LinearBall(const LinearFamily& family,
                                           const Eigen::VectorXd& parameters,
                                           std::span<const BanditTuple> train);

}  // namespace sortition
